"""Owners set how long a team keeps content, and members see what was erased."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import ApiKey, Membership, Team, User
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery, SignedIn
from wake.blobs.uploads import upload
from wake.models import Callback, CallbackAttempt, Delivery, Response, Retention
from wake.retention import BelowFloor, erase_old, keep_content

KEEP = "/settings/retention/garden/keep"
LATER = timedelta(days=31)


def days_of(team: Team) -> int | None:
    return Retention.objects.filter(team=team).values_list("days", flat=True).first()


# The setting --------------------------------------------------------------------------------------


def test_an_owner_sets_and_sees_the_retention(alice: User, team: Team, signed_in: SignedIn) -> None:
    client = signed_in(alice)
    before = text_of(client.get("/settings/retention/"))
    assert "Kept forever." in before
    assert "From people: messages, edits, drafts and comments" in before

    saved = client.post(KEEP, {"days": "90"}, follow=True)

    assert saved.redirect_chain == [("/settings/retention/", 303)]
    assert "Garden keeps content for 90 days." in text_of(saved)
    assert "Erased after 90 days." in text_of(saved)
    assert days_of(team) == 90

    client.post(KEEP, {"days": ""})
    assert days_of(team) is None


def test_no_team_goes_below_the_floor_of_the_server(
    alice: User, team: Team, signed_in: SignedIn, settings: Any
) -> None:
    settings.WAKE_RETENTION_FLOOR_DAYS = 180

    refused = signed_in(alice).post(KEEP, {"days": "179"})
    saved = signed_in(alice).post(KEEP, {"days": "180"}, follow=True)

    assert "This server keeps content for at least 180 days." in text_of(refused)
    assert "Erased after 180 days." in text_of(saved)
    with pytest.raises(BelowFloor):
        keep_content(team, days=179, by=alice, at=timezone.now())
    assert days_of(team) == 180


def test_content_stays_until_the_floor_if_a_team_chose_fewer_days_before(
    alice: User,
    team: Team,
    make_delivery: MakeDelivery,
    answer: Answer,
    signed_in: SignedIn,
    settings: Any,
) -> None:
    answer(make_delivery())
    Retention.objects.create(team=team, days=30)
    settings.WAKE_RETENTION_FLOOR_DAYS = 180
    now = timezone.now()

    counts = [erase_old(at=now + timedelta(days=days)) for days in (31, 179, 181)]

    assert counts == [0, 0, 1]
    assert "Erased after 180 days." in text_of(signed_in(alice).get("/settings/retention/"))


def test_the_page_tells_the_bytes_of_the_teams_files(
    alice: User, key: ApiKey, signed_in: SignedIn, settings: Any
) -> None:
    settings.WAKE_MAX_TEAM_BLOB_BYTES = 10_240
    for content in (b"a" * 1024, b"b" * 2048):
        upload(key, content, content_type="text/plain", at=timezone.now())

    page = text_of(signed_in(alice).get("/settings/retention/"))

    assert "Files of agents: 3 kB of 10 kB used." in page


def test_the_page_warns_of_immediate_erasure(
    alice: User, team: Team, make_delivery: MakeDelivery, answer: Answer, signed_in: SignedIn
) -> None:
    answer(make_delivery())
    Delivery.objects.update(activity_at=timezone.now() - timedelta(days=40))
    client = signed_in(alice)

    warned = client.post(KEEP, {"days": "30"})

    assert warned.status_code == 422
    assert "1 delivery is older than 30 days." in text_of(warned)
    assert days_of(team) is None
    assert client.post(KEEP, {"days": "20", "erase": "30"}).status_code == 422
    assert client.post(KEEP, {"days": "30", "erase": "30"}).status_code == 303
    assert days_of(team) == 30


@pytest.mark.parametrize("days", ["0", "-1", "3651", "soon", "1e3", "99999999999999999999", "٣٠"])
def test_an_invalid_number_of_days_changes_nothing(
    days: str, alice: User, team: Team, signed_in: SignedIn
) -> None:
    answered = signed_in(alice).post(KEEP, {"days": days, "erase": "x"})

    assert answered.status_code == 422
    assert days_of(team) is None


@pytest.mark.parametrize("name", ["bob", "rita"])
def test_only_owners_change_it_and_others_read_it(
    name: str, request: pytest.FixtureRequest, team: Team, signed_in: SignedIn
) -> None:
    client = signed_in(request.getfixturevalue(name))

    page = text_of(client.get("/settings/retention/"))

    assert "Only team owners can change this." in page
    assert "Days to keep" not in page
    assert client.post(KEEP, {"days": "1"}).status_code == 403
    assert days_of(team) is None


def test_another_teams_setting_is_a_404(
    team: Team, mallory: User, alice: User, signed_in: SignedIn
) -> None:
    Membership.objects.create(team=mallory.teams.get(), user=alice, role=Membership.Role.READER)
    client = signed_in(mallory)

    assert "Garden" not in text_of(client.get("/settings/retention/"))
    assert client.post(KEEP, {"days": "1"}).status_code == 404
    assert days_of(team) is None


# Erased content -----------------------------------------------------------------------------------


@pytest.fixture
def later() -> datetime:
    return timezone.now() + LATER


@pytest.fixture
def erase(team: Team, later: datetime) -> Callable[[], str]:
    """Lets a month pass, and returns what replaces the headline."""
    Retention.objects.create(team=team, days=30)

    def run() -> str:
        assert erase_old(at=later)
        return f"Erased on {later.day} {later:%b %Y}"

    return run


@pytest.fixture
def answered(make_delivery: MakeDelivery, answer: Answer, allowed_host: str) -> Delivery:
    """Creates a delivery with a callback that was given up."""
    delivery = make_delivery(
        details_json='{"ingredient": "saffron"}', callback_webhook=f"https://{allowed_host}/"
    )
    answer(delivery, "rejected", feedback="Less paprika.")
    Callback.objects.update(due_at=None, given_up_at=timezone.now(), tries=10)
    CallbackAttempt.objects.create(
        callback=Callback.objects.get(),
        number=1,
        started_at=timezone.now(),
        took_ms=12,
        status_code=500,
        answer="vanilla",
    )
    return delivery


def test_the_page_of_an_erased_delivery_shows_the_remaining_facts(
    answered: Delivery, alices: Person, erase: Callable[[], str]
) -> None:
    headline = erase()

    page = text_of(alices.see(answered))

    assert headline in page
    assert "Content erased under" in page
    assert "Rejected by alice" in page
    assert "saffron" not in page
    assert "paprika" not in page
    assert "Undo" not in page
    assert alices.get(f"/deliveries/{answered.pk}/raw").status_code == 404


def test_lists_and_the_audit_show_erased_deliveries(
    answered: Delivery, alices: Person, erase: Callable[[], str]
) -> None:
    headline = erase()

    assert "Content of 1 delivery was erased Garden" in text_of(alices.get("/audit/"))
    for path in ("/history/", "/callbacks/", "/audit/"):
        page = text_of(alices.get(path))

        assert headline in page
        assert answered.headline not in page


def test_its_callback_cannot_be_sent_again(
    answered: Delivery, alices: Person, erase: Callable[[], str]
) -> None:
    path = f"/callbacks/{Callback.objects.get().pk}/"
    assert "Send again" in text_of(alices.get(path))
    erase()

    page = text_of(alices.get(path))

    assert "were erased" in page
    assert "Send again" not in page
    assert "vanilla" not in page
    assert alices.client.post(f"{path}replay").status_code == 409


def test_an_erased_open_delivery_cannot_be_answered(
    make_delivery: MakeDelivery, alices: Person, erase: Callable[[], str]
) -> None:
    delivery = make_delivery(timeout_seconds=60)
    erase()

    assert "Not answered." in text_of(alices.see(delivery))
    assert delivery.headline not in text_of(alices.get("/"))
    refused = alices.answer(delivery, "rejected", feedback="No.")
    assert refused.status_code == 422
    assert "Content erased under" in text_of(refused)
    assert alices.get(f"/deliveries/{delivery.pk}/edit").status_code == 303
    assert not Response.objects.exists()


def test_an_erased_delivery_is_found_by_its_outcome(
    make_delivery: MakeDelivery, alices: Person, erase: Callable[[], str]
) -> None:
    make_delivery(timeout_seconds=60)
    headline = erase()
    Delivery.objects.update(expires_at=timezone.now() - timedelta(minutes=1))

    assert headline in text_of(alices.get("/history/"))
    assert headline in text_of(alices.get("/history/", q="is:expired"))
    assert headline in text_of(alices.get("/history/", q="status:expired"))


def test_a_revision_of_it_is_not_compared(
    make_delivery: MakeDelivery, alices: Person, erase: Callable[[], str], later: Any
) -> None:
    first = make_delivery(details_json='"saffron"')
    second = make_delivery(details_json='"turmeric"', supersedes=first.pk)
    erase()

    page = text_of(alices.see(second))

    assert "turmeric" in page
    assert "saffron" not in page
