"""Operators see whether the server is well, and what to do if not."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command
from django.test import RequestFactory
from django.utils import timezone

from accounts.log import sweep
from accounts.log.checkpoints import checkpoints
from accounts.models import CheckpointSending, Team, User
from inbox.pages.server import storage, subjects
from inbox.pages.server.day import last_day
from inbox.pages.server.views import server
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from wake.models import Callback, FailingTarget, Heartbeat, LastBackup, ServerSample
from wake.server.health.archive import Archive
from wake.server.metrics import samples

PAGE = "/settings/server/"
NO_SERVER = "redis://127.0.0.1:1/0"
ROOT = Path(__file__).parents[3]
GB = 10**9
MAX_QUERIES = 45


@pytest.fixture
def operator(alices: Person, settings: Any, tmp_path: Path) -> Person:
    """Returns Alice as an operator of a server that is well."""
    alices.user.is_staff = True
    alices.user.save(update_fields=["is_staff"])
    settings.REDIS_URL = ""
    settings.WAKE_DATA = tmp_path
    now = timezone.now()
    Heartbeat.objects.create(name="wake", at=now)
    LastBackup.objects.create(finished_at=now - timedelta(hours=3), folder="/copies/1", size=3 * GB)
    return alices


def disk_with(free: int) -> storage.DiskUsage:
    return lambda _: SimpleNamespace(free=free, total=40 * GB)


def sample(at: Any, **figures: Any) -> ServerSample:
    names = "deliveries responses pending_deliveries waiting_callbacks suspended_callbacks"
    values = {**dict.fromkeys([*names.split(), "seconds_overdue"], 0), **figures}
    return ServerSample(at=at, **values)


def test_a_server_that_is_well_says_so(operator: Person, rf: RequestFactory) -> None:
    request = rf.get(PAGE)
    request.user, request.session = operator.user, operator.client.session
    page = text_of(server(request, disk_with(20 * GB)))

    assert "Everything is well." in page
    assert "Needs attention" not in page
    assert "Callbacks Nothing is due." in page
    assert "manage.py backup copied 3 GB to /copies/1" in page
    assert "All migrations have run." in page
    assert "A worker took a job of beat" in page


@pytest.mark.parametrize("role", ["alice", "bob", "rita", "mallory"])
def test_it_is_not_there_for_others(role: str, request: pytest.FixtureRequest) -> None:
    person = Person(request.getfixturevalue(role))

    assert person.get(PAGE).status_code == 404
    assert person.get("/nothing/").status_code == 404
    assert PAGE not in person.get("/settings/").content.decode()
    assert PAGE not in person.get("/settings/theme/").content.decode()
    assert PAGE not in person.get("/go/").content.decode()


def test_an_operator_finds_it_everywhere(operator: Person) -> None:
    for path in ("/settings/", "/settings/theme/", "/go/"):
        assert PAGE in operator.get(path).content.decode(), path


def test_a_deactivated_operator_is_signed_out(operator: Person) -> None:
    User.objects.filter(pk=operator.user.pk).update(is_active=False)

    assert operator.get(PAGE).status_code == 302


def test_a_stopped_worker_is_named(operator: Person) -> None:
    Heartbeat.objects.update(at=timezone.now() - timedelta(minutes=5))

    page = text_of(operator.get(PAGE))

    assert "Needs attention No worker has taken a job of beat for 5 min." in page
    assert "Start workers and beat." in page
    assert "See docs/operations.md, Web servers, workers, beat." in page


def test_a_server_without_a_worker_says_so(operator: Person) -> None:
    Heartbeat.objects.all().delete()

    assert "No worker has ever run with this database." in text_of(operator.get(PAGE))


def test_a_late_queue_is_named(operator: Person, make_delivery: MakeDelivery) -> None:
    make_delivery(at=timezone.now() - timedelta(minutes=4), timeout_seconds=60)

    page = text_of(operator.get(PAGE))

    assert "Deadlines: work has been due for 3 min, and no worker has done it." in page
    assert "Deadlines Due for 3 min." in page


def test_redis_that_is_away_is_a_sentence(operator: Person, settings: Any) -> None:
    settings.REDIS_URL = NO_SERVER

    page = operator.get(PAGE)

    assert page.status_code == 200
    assert "Redis does not answer." in text_of(page)
    assert "Redis unknown" in text_of(page)


def test_rabbitmq_that_is_away_is_a_sentence(operator: Person, settings: Any) -> None:
    settings.REDIS_URL = NO_SERVER
    settings.WAKE_USES_RABBITMQ, settings.CELERY_BROKER_URL = True, "amqp://127.0.0.1:1//"

    page = text_of(operator.get(PAGE))

    assert "RabbitMQ does not answer." in page
    assert "Redis does not answer." in page
    assert "RabbitMQ unknown" in page


def test_a_missing_and_an_old_backup_are_named(operator: Person) -> None:
    LastBackup.objects.update(finished_at=timezone.now() - timedelta(days=9))
    old = text_of(operator.get(PAGE))
    LastBackup.objects.all().delete()
    missing = text_of(operator.get(PAGE))

    assert "Needs attention The last backup is 9 days old." in old
    assert "Needs attention Wake does not know of a backup." in missing


def test_a_backup_of_another_program_counts(operator: Person) -> None:
    LastBackup.objects.all().delete()
    call_command("backup", "--record", "pgBackRest")

    page = text_of(operator.get(PAGE))

    assert "pgBackRest reported a backup" in page
    assert "does not know of a backup" not in page


@pytest.mark.django_db
def test_an_archive_needs_no_attention_while_it_works() -> None:
    now = timezone.now()
    works = Archive(now - timedelta(minutes=2), failed_at=now - timedelta(hours=1))
    stands_still = Archive(now - timedelta(days=9), failed_at=None)
    fails = Archive(now - timedelta(minutes=2), failed_at=now)

    def problems(archive: Archive | None) -> list[str]:
        return [each.text for each in storage.backup_subject(now, archive).problems]

    assert problems(works) == []
    assert problems(stands_still) == problems(None) == ["Wake does not know of a backup."]
    assert problems(fails) == ["PostgreSQL cannot archive its write-ahead log."]


def test_a_disk_that_is_nearly_full_is_named(operator: Person) -> None:
    wide, full = (storage.disk_subject(disk_with(free)) for free in (20 * GB, 2 * GB))

    assert wide.problems == []
    (problem,) = full.problems
    assert problem.text == "The disk of the data folder is nearly full: 2 GB are free."


def test_suspended_hosts_are_counted(
    operator: Person, make_delivery: MakeDelivery, answer: Answer, team: Team
) -> None:
    now = timezone.now()
    response = answer(make_delivery())
    Callback.objects.create(response=response, agent=response.delivery.agent, team=team, body=b"")
    FailingTarget.objects.create(
        team=team, host="hooks.example.com", failing_since=now, suspended_at=now
    )

    page = text_of(operator.get(PAGE))

    assert "Held back, because their host is suspended 1" in page
    assert "Suspended hosts 1" in page


def test_checkpoints_that_do_not_arrive_are_named(
    operator: Person, settings: Any, make_delivery: MakeDelivery
) -> None:
    now = timezone.now()
    make_delivery()
    sweep.append_new(at=now)
    checkpoint = checkpoints.make(at=now)
    assert checkpoint is not None
    nowhere = text_of(operator.get(PAGE))
    settings.WAKE_CHECKPOINT_GIT = "https://git.example.com/log"
    CheckpointSending.objects.create(
        checkpoint=checkpoint, kind="git", due_at=now, attempts=2, error="It timed out."
    )

    page = text_of(operator.get(PAGE))

    assert "Checkpoints are sent nowhere, so only this server has them." in nowhere
    assert "Git remote: the checkpoint does not arrive: It timed out." in page
    assert "Git remote Not sent yet. Attempts so far: 2." in page


def test_a_problem_leads_to_the_documentation_if_the_server_has_it(
    operator: Person, settings: Any, tmp_path: Path
) -> None:
    LastBackup.objects.all().delete()
    settings.WAKE_DOCUMENTATION = tmp_path

    page = operator.get(PAGE).content.decode()

    assert 'href="/docs/operations/#back-up-and-restore"' in page


def test_each_paragraph_that_the_page_names_exists() -> None:
    named = [each for each in vars(subjects).values() if isinstance(each, subjects.Paragraph)]

    assert len(named) >= 5
    for paragraph in named:
        assert f"# {paragraph.title}\n" in (ROOT / paragraph.file).read_text()


def test_more_teams_and_agents_cost_no_more_queries(
    operator: Person, make_delivery: MakeDelivery, django_assert_max_num_queries: Any
) -> None:
    now = samples.beginning(timezone.now())
    ServerSample.objects.bulk_create(sample(now - n * samples.INTERVAL) for n in range(288))
    for _ in range(5):
        make_delivery()

    with django_assert_max_num_queries(MAX_QUERIES):
        page = text_of(operator.get(PAGE))

    assert "Traffic In each five minutes." in page


def test_a_new_server_has_words_instead_of_charts(operator: Person) -> None:
    ServerSample.objects.bulk_create([sample(samples.beginning(timezone.now()))])

    page = operator.get(PAGE)

    assert "There is nothing to draw yet." in text_of(page)
    assert "<figure" not in page.content.decode()


@pytest.mark.django_db
def test_charts_have_what_was_added_in_each_five_minutes_and_gaps() -> None:
    now = samples.beginning(timezone.now()).replace(minute=50)
    totals = {0: 100, 1: 103, 2: 110, 4: 150, 5: 151}
    ServerSample.objects.bulk_create(
        sample(now + (n - 5) * samples.INTERVAL, deliveries=total, pending_deliveries=n)
        for n, total in totals.items()
    )

    day = last_day(now)

    ((_, cells),) = day.hours
    assert dict(zip(day.columns[1:], cells, strict=True)) == {
        "Deliveries": "11",  # 3 + 7, none across the gap, and 1
        "Responses": "0",
        "Waiting for people": "5",
        "Callbacks": "0",
        "Held back": "0",
        "Seconds late": "0",
    }
    assert len(day.drawings) == 4


@pytest.mark.django_db
def test_figures_of_an_earlier_day_are_not_drawn() -> None:
    now = samples.beginning(timezone.now())
    earlier = now - timedelta(hours=30)
    ServerSample.objects.bulk_create(sample(earlier + n * samples.INTERVAL) for n in range(5))

    assert last_day(now).drawings == []
