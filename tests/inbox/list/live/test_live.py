"""An open page hears at once that something happened, for as long as the person may see it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.utils import timezone

from accounts.access import members
from accounts.access.viewer import Viewer
from accounts.audit import person
from accounts.models import Agent, ApiKey, Membership, Session, Team, User
from accounts.sign_in.browsers import sessions
from database import notifications
from inbox.list.live import changes, stream
from inbox.list.live.changes import PageFollower, look
from inbox.reading.updates import mark
from tests.inbox.list.live.page import CHANGED, HEARTBEAT, OpenPage
from tests.inbox.person import Person
from tests.types import Answer, MakeDelivery
from wake import acknowledgements, outcomes, withdrawals
from wake.models import Delivery
from wake.signals import inbox_topic

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "LOOK_OFTEN_SECONDS", 60)  # only notifications wake the stream
    # The test knows from heartbeats that a stream is silent. By default one comes every 15 seconds.
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.2)


def now() -> str:
    return mark(timezone.now())


@dataclass(frozen=True)
class Unheard:
    """Marks an act after which the page must receive nothing."""

    act: Callable[[], Any]

    def __call__(self) -> None:
        self.act()


def listen(person: Person, *acts: Callable[[], Any], since: str = "", **query: str) -> list[Any]:
    """Opens a page, then does one act after the other, and returns what the page receives each
    time."""

    @async_to_sync
    async def story() -> list[Any]:
        page = await OpenPage(person, since=since or now(), **query).open()
        told = []
        for act in acts:
            await sync_to_async(act, thread_sensitive=True)()
            told.append(await (page.silence() if isinstance(act, Unheard) else page.next()))
            if told[-1] is None:
                return told
        await page.leave()
        return told

    return story()


def nothing() -> None:
    """Only waits."""


def test_a_page_is_told_of_everything_that_happens_to_its_deliveries(
    alices: Person, bobs: Person, bob: User, make_delivery: MakeDelivery
) -> None:
    update = make_delivery(type="update")
    output = make_delivery()

    told = listen(
        alices,
        make_delivery,
        lambda: bobs.answer(output),
        lambda: bobs.undo(output),
        lambda: acknowledgements.acknowledge([update.pk], by=bob, at=timezone.now()),
        lambda: acknowledgements.bring_back([update.pk], by=bob, at=timezone.now()),
        lambda: withdrawals.withdraw(Delivery.objects.filter(pk=update.pk), at=timezone.now()),
        Unheard(nothing),
    )

    assert told == [CHANGED] * 6 + [HEARTBEAT]


def test_a_page_is_told_of_a_failure_and_of_no_other_outcome(
    alices: Person, key: ApiKey, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery()
    answer(delivery)

    def report(status: str) -> None:
        outcomes.report(key, delivery.pk, status=status, at=timezone.now())

    told = listen(alices, lambda: report("failed"), Unheard(lambda: report("done")), since=now())

    assert told == [CHANGED, HEARTBEAT]


def test_a_page_learns_what_happened_before_its_stream(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    make_delivery()
    since = now()
    make_delivery()

    assert listen(alices, nothing, Unheard(nothing), since=since) == [CHANGED, HEARTBEAT]
    assert listen(alices, Unheard(nothing)) == [HEARTBEAT]


def test_an_old_page_that_comes_back_asks_once(alices: Person) -> None:
    hour_old = mark(timezone.now() - timedelta(hours=1))

    assert listen(alices, nothing, Unheard(nothing), since=hour_old) == [CHANGED, HEARTBEAT]


def test_the_stream_holds_no_content_and_no_other_team(
    alices: Person, elsewhere: Delivery, mallory: User, agent: Agent, second_team: Team
) -> None:
    mallorys = Person(mallory)

    assert listen(alices, Unheard(lambda: mallorys.answer(elsewhere))) == [HEARTBEAT]


def test_a_page_of_one_team_is_told_of_that_team_alone(
    alices: Person, second_team: Team, make_delivery: MakeDelivery
) -> None:
    assert listen(alices, Unheard(make_delivery), team=second_team.slug) == [HEARTBEAT]
    assert listen(alices, make_delivery) == [CHANGED]


def test_who_is_removed_from_the_team_is_told_nothing_more(
    bobs: Person, bob: User, alice: User, make_delivery: MakeDelivery
) -> None:
    def remove_and_deliver() -> None:
        members.remove(Membership.objects.get(user=bob), by=person(alice))
        make_delivery()

    assert listen(bobs, make_delivery, remove_and_deliver) == [CHANGED, None]
    assert not stream.places.taken


@pytest.mark.parametrize("end", ["sign-out", "everywhere", "inactive", "expired"])
def test_a_session_that_ends_ends_its_stream(
    alices: Person, alice: User, make_delivery: MakeDelivery, end: str
) -> None:
    def end_and_deliver() -> None:
        if end == "sign-out":
            alices.client.post("/logout/")
        elif end == "everywhere":
            sessions.end_all(alice)
        elif end == "inactive":
            User.objects.filter(pk=alice.pk).update(is_active=False)
        else:
            Session.objects.update(expire_date=timezone.now())
        make_delivery()

    assert listen(alices, end_and_deliver) == [None]


def test_a_session_that_ends_is_noticed_without_an_event(
    alices: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "LOOK_OFTEN_SECONDS", 0.05)  # the stream also looks by itself

    assert listen(alices, lambda: alices.client.post("/logout/")) == [None]


def test_a_look_that_finds_nothing_new_tells_nothing(
    alices: Person, make_delivery: MakeDelivery, team: Team
) -> None:
    """On SQLite, a look shows that the file has changed, and not what has changed."""
    make_delivery()

    def wake() -> None:
        notifications._wake([inbox_topic(team.pk)])

    assert listen(alices, Unheard(wake), Unheard(wake)) == [HEARTBEAT, HEARTBEAT]


def test_an_event_that_commits_after_a_later_one_is_told(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    def late() -> None:
        make_delivery(at=timezone.now() - timedelta(seconds=5))

    assert listen(alices, make_delivery, late) == [CHANGED, CHANGED]


def test_there_is_no_stream_without_a_sign_in_or_a_time(alices: Person) -> None:
    @async_to_sync
    async def status(person: Person | None, **query: str) -> int:
        return (await OpenPage(person, **query).open()).status

    assert status(None, since=now()) == 204
    assert status(alices) == 204
    assert status(alices, since="x") == 204
    assert status(alices, since=now(), team="nowhere") == 404


def test_the_server_of_short_requests_has_no_stream(alices: Person) -> None:
    assert alices.get("/live", since=now()).status_code == 204


def test_a_person_has_so_many_streams_and_the_server_so_many(
    alices: Person, bobs: Person, settings: Any
) -> None:
    most = stream.MAX_OF_A_PERSON
    settings.WAKE_MAX_INBOX_STREAMS = most + 1
    people = [alices] * (most + 1) + [bobs] * 2

    @async_to_sync
    async def story() -> list[int]:
        pages = [await OpenPage(each, since=now()).open() for each in people]
        await pages[0].leave()
        pages.append(await OpenPage(alices, since=now()).open())
        statuses = [page.status for page in pages]
        await asyncio.gather(*(page.leave() for page in pages[1:] if page.status == 200))
        return statuses

    assert story() == [*[200] * most, 204, 200, 204, 200]
    assert not stream.places.taken


def test_the_answer_is_an_event_stream_that_proxies_pass_on(alices: Person) -> None:
    @async_to_sync
    async def headers() -> dict[str, str]:
        page = await OpenPage(alices, since=now()).open()
        await page.leave()
        return page.headers

    found = headers()
    assert found["content-type"] == "text/event-stream"
    assert found["cache-control"].startswith("no-store")
    assert found["x-accel-buffering"] == "no"
    assert "content-encoding" not in found
    assert "script-src 'self'" in found["content-security-policy"]


def test_one_look_makes_two_queries_for_all_pages(
    alices: Person,
    bobs: Person,
    alice: User,
    bob: User,
    second_team: Team,
    make_delivery: MakeDelivery,
    django_assert_num_queries: Any,
) -> None:
    make_delivery()
    at = timezone.now()
    pages = [
        PageFollower(Viewer.of(each.user), each.client.session.session_key or "", at)
        for each in [alices, bobs, alices]
    ]
    team_ids = {team_id for page in pages for team_id in page.keys}

    with django_assert_num_queries(2):
        found = look(team_ids, pages, at=at)

    assert len(found.recent) == 2
    assert len(found.teams_of) == 2
