"""Content is erased after the team's retention period, and its events remain."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.access.objects import NotAllowed
from accounts.models import AuditEvent, Team, User
from inbox.models import Searchable
from inbox.search.index import index_new
from tests.fixtures.agent_client import AgentClient
from tests.types import Answer, MakeDelivery
from tests.wake.callbacks.receiver import Receiver, answering
from tests.wake.retention.stored import tables_with
from wake.acknowledgements import acknowledge, bring_back
from wake.callbacks.outbox import NothingLeftToSend, send_again
from wake.callbacks.sending import send_due
from wake.models import Callback, CallbackAttempt, Delivery, Draft, Response, Retention
from wake.responses import ContentErased, respond
from wake.retention import erase_old, keep_content
from wake.undo import take_back

LATER = timedelta(days=31)


@pytest.fixture
def later() -> datetime:
    return timezone.now() + LATER


@pytest.fixture
def keeps(team: Team) -> Retention:
    """Sets the team's retention to 30 days."""
    return Retention.objects.create(team=team, days=30)


def in_thread(work: Callable[[], int]) -> int:
    """Runs with a separate connection and closes it."""
    try:
        return work()
    finally:
        connection.close()


def is_erased(delivery: Delivery) -> bool:
    return Delivery.objects.get(pk=delivery.pk).erased_at is not None


# Erased and kept columns --------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_erasing_removes_content_and_keeps_facts(
    receiver: Receiver, caller: AgentClient, answer: Answer, keeps: Retention, later: datetime
) -> None:
    receiver.then(answering(500, b"vanilla"), answering(200, b"vanilla"))
    delivery_id = caller.deliver(
        headline="About the nutmeg",
        summary="It says cinnamon.",
        details={"ingredient": "saffron"},
        assumption="I take the cardamom.",
        x_spice="turmeric",
        callback_webhook=f"{receiver.url}?token=clove",
    )
    answer(delivery_id, "redirected", feedback="More paprika.", edited_json='{"a": "oregano"}')
    send_due()
    send_due(clock=lambda: timezone.now() + timedelta(minutes=1))
    index_new(at=timezone.now())
    before = Delivery.objects.select_related("response__callback").get()

    assert erase_old(at=later) == 1

    words = ["nutmeg", "cinnamon", "saffron", "cardamom", "turmeric", "clove"]
    words += ["paprika", "oregano", "vanilla"]
    assert {word: tables_with(word) for word in words} == {word: set() for word in words}
    after = Delivery.objects.select_related("response__callback").get()
    assert after.erased_at == later
    assert after.headline == f"Erased on {later.day} {later:%b %Y}"
    for name in ("content_hash", "created_at", "activity_at", "status", "type", "key_hint"):
        assert getattr(after, name) == getattr(before, name)
    for name in ("status", "by_id", "by_name", "answered_at", "responded_at", "picked_up_at"):
        assert getattr(after.response, name) == getattr(before.response, name)
    assert after.response.callback.delivered_at == before.response.callback.delivered_at
    assert CallbackAttempt.objects.filter(status_code=500).exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL's vacuum does it later")
def test_on_sqlite_the_file_contains_no_erased_content(
    keeps: Retention, make_delivery: MakeDelivery, answer: Answer, later: datetime
) -> None:
    def count() -> int:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return Path(connection.settings_dict["NAME"]).read_bytes().count(b"paprika")

    for number in range(30):
        delivery = make_delivery(details_json=json.dumps(f"paprika {number} " * 500))
        answer(delivery, "rejected", feedback="No paprika.")
    index_new(at=timezone.now())
    assert count() > 30

    erase_old(at=later)

    assert count() == 0


def test_erased_content_is_not_indexed_later(
    keeps: Retention, make_delivery: MakeDelivery, answer: Answer, later: datetime
) -> None:
    answer(make_delivery(details_json='"saffron"'))
    erase_old(at=later)

    index_new(at=timezone.now())

    assert not Searchable.objects.exists()


def test_a_team_without_a_setting_keeps_everything(
    make_delivery: MakeDelivery, answer: Answer, later: datetime
) -> None:
    delivery = make_delivery()
    answer(delivery)

    assert erase_old(at=later) == 0
    assert not is_erased(delivery)


def test_another_teams_content_is_kept(
    keeps: Retention, make_delivery: MakeDelivery, mallory: User, later: datetime
) -> None:
    theirs = make_delivery()
    Delivery.objects.update(team=mallory.teams.get(), superseded_at=theirs.created_at)

    assert erase_old(at=later) == 0


def test_content_is_erased_once(
    keeps: Retention, make_delivery: MakeDelivery, answer: Answer, later: datetime
) -> None:
    answer(make_delivery())

    assert erase_old(at=later) == 1
    assert erase_old(at=later + timedelta(days=1)) == 0
    assert Delivery.objects.get().erased_at == later


def test_the_retention_starts_at_the_last_activity(
    keeps: Retention, make_delivery: MakeDelivery, answer: Answer, age: Any
) -> None:
    delivery = make_delivery()
    age(delivery, days=400)
    Delivery.objects.update(activity_at=timezone.now() - timedelta(days=400))
    answered_at = answer(delivery).responded_at or timezone.now()

    assert erase_old(at=answered_at + timedelta(days=29, hours=23)) == 0
    assert erase_old(at=answered_at + timedelta(days=30)) == 1


# Unfinished deliveries ----------------------------------------------------------------------------


def test_open_deliveries_are_kept(
    keeps: Retention, make_delivery: MakeDelivery, later: datetime
) -> None:
    make_delivery(type="question")
    week = make_delivery(type="question", timeout_seconds=604_800)

    assert erase_old(at=(week.expires_at or later) + timedelta(days=29)) == 0
    assert not is_erased(week)


def test_a_delivery_whose_agent_waits_after_the_deadline_is_kept(
    keeps: Retention, make_delivery: MakeDelivery, later: datetime
) -> None:
    waiting = make_delivery(type="question", timeout_seconds=60, on_timeout="hold")

    assert erase_old(at=later + timedelta(days=99)) == 0
    assert not is_erased(waiting)


@pytest.mark.parametrize("ending", ["window", "got it", "newer one"])
def test_deliveries_closed_without_an_answer_are_erased_too(
    ending: str, keeps: Retention, make_delivery: MakeDelivery, alice: User
) -> None:
    delivery = make_delivery(type="update", timeout_seconds=3600 if ending == "window" else None)
    ended = delivery.created_at + timedelta(hours=1)
    if ending == "got it":
        acknowledge([delivery.pk], by=alice, at=ended)
    if ending == "newer one":
        make_delivery(supersedes=delivery.pk)
        Delivery.objects.filter(pk=delivery.pk).update(superseded_at=ended)

    assert erase_old(at=ended + timedelta(days=29)) == 0
    assert erase_old(at=ended + timedelta(days=30)) == 1
    assert is_erased(delivery)


def test_a_held_answer_is_kept(
    keeps: Retention, make_delivery: MakeDelivery, answer: Answer, later: datetime
) -> None:
    delivery = make_delivery(timeout_seconds=60)
    answer(delivery, held=True, at=later, feedback="Late.")

    assert erase_old(at=later + timedelta(seconds=1)) == 0


def test_a_body_is_erased_only_after_its_callback_has_ended(
    keeps: Retention,
    make_delivery: MakeDelivery,
    answer: Answer,
    allowed_host: str,
    later: datetime,
) -> None:
    delivery = make_delivery(callback_webhook=f"https://{allowed_host}/")
    answer(delivery, feedback="Do it.")
    assert erase_old(at=later) == 0
    Callback.objects.update(due_at=None)  # the callback's target is suspended
    assert erase_old(at=later) == 0

    Callback.objects.update(given_up_at=later)

    assert erase_old(at=later) == 1


# Batches ------------------------------------------------------------------------------------------


def test_teams_take_turns_and_each_batch_is_one_event(
    keeps: Retention,
    make_delivery: MakeDelivery,
    answer: Answer,
    later: datetime,
) -> None:
    for _ in range(5):
        answer(make_delivery())

    assert erase_old(at=later, at_once=2) == 5

    events = AuditEvent.objects.filter(event="retention.erased").order_by("pk")
    assert [event.detail for event in events] == [{"count": 2}, {"count": 2}, {"count": 1}]
    assert {(event.actor_kind, event.object_name) for event in events} == {("system", "Garden")}


def test_erasing_stops_when_its_time_is_up(
    keeps: Retention, make_delivery: MakeDelivery, answer: Answer, later: datetime
) -> None:
    answer(make_delivery())

    assert erase_old(at=later, seconds=0) == 0
    assert not Delivery.objects.exclude(erased_at=None).exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_erasing_waits_for_no_lock(
    keeps: Retention, make_delivery: MakeDelivery, answer: Answer, later: datetime
) -> None:
    busy, free = make_delivery(), make_delivery()
    for delivery in (busy, free):
        answer(delivery)

    with transaction.atomic(), ThreadPoolExecutor(1) as pool:
        Delivery.objects.select_for_update().get(pk=busy.pk)
        erased = pool.submit(in_thread, lambda: erase_old(at=later)).result(timeout=60)

    assert erased == 1
    assert (is_erased(busy), is_erased(free)) == (False, True)
    assert erase_old(at=later) == 1


# Afterwards ---------------------------------------------------------------------------------------


@pytest.fixture
def erased(
    keeps: Retention, make_delivery: MakeDelivery, answer: Answer, later: datetime
) -> Delivery:
    delivery = make_delivery(details_json='"saffron"')
    answer(delivery, "rejected", feedback="No.")
    erase_old(at=later)
    return Delivery.objects.get()


def test_an_agent_sees_the_outcome_and_that_the_content_was_erased(
    erased: Delivery, caller: AgentClient
) -> None:
    answered = caller.poll(str(erased.pk))

    assert answered["status"] == "rejected"
    assert answered["responded_at"]
    assert (answered["feedback"], answered["edited_content"]) == (None, None)
    assert answered["erased"] is True
    assert caller.sweep()["deliveries"] == [answered]


def test_nothing_is_erased_before_the_retention_has_passed(caller: AgentClient) -> None:
    assert caller.poll(caller.deliver())["erased"] is False


def test_an_erased_delivery_cannot_be_answered(
    keeps: Retention, make_delivery: MakeDelivery, alice: User, later: datetime
) -> None:
    delivery = make_delivery(timeout_seconds=60)
    erase_old(at=later)

    with pytest.raises(ContentErased, match="erased"):
        respond(
            delivery,
            by=alice,
            status="approved",
            content_hash=delivery.content_hash,
            at=timezone.now(),
        )


def test_an_erased_answer_cannot_be_undone(erased: Delivery, alice: User) -> None:
    with pytest.raises(Response.DoesNotExist):
        take_back(erased, by=alice, at=timezone.now())

    assert not Draft.objects.exists()


def test_a_callback_without_a_body_is_not_sent_again(
    keeps: Retention,
    make_delivery: MakeDelivery,
    answer: Answer,
    allowed_host: str,
    alice: User,
    later: datetime,
) -> None:
    answer(make_delivery(callback_webhook=f"https://{allowed_host}/"))
    Callback.objects.update(due_at=None, given_up_at=timezone.now())
    erase_old(at=later)

    with pytest.raises(NothingLeftToSend):
        send_again(Callback.objects.get(), by=alice, at=later)


def test_an_acknowledged_and_erased_delivery_cannot_be_brought_back(
    keeps: Retention, make_delivery: MakeDelivery, alice: User, later: datetime
) -> None:
    delivery = make_delivery(type="update")
    acknowledge([delivery.pk], by=alice, at=timezone.now())
    erase_old(at=later)

    assert bring_back([delivery.pk], by=alice, at=timezone.now()) == []


def test_an_erased_deliverys_idempotency_key_is_free_again(
    keeps: Retention, caller: AgentClient, answer: Answer, later: datetime
) -> None:
    caller.post(caller.payload(), **{"Idempotency-Key": "monday"})
    answer(Delivery.objects.get())
    erase_old(at=later)

    again = caller.post(caller.payload(summary="Another."), **{"Idempotency-Key": "monday"})

    assert again.status_code == 201
    assert "Idempotency-Replayed" not in again


# Retention periods of teams -----------------------------------------------------------------------


def test_an_owner_sets_the_retention(team: Team, alice: User) -> None:
    at = timezone.now()

    keep_content(team, days=90, by=alice, at=at, address="192.0.2.7")
    keep_content(team, days=90, by=alice, at=at)
    keep_content(team, days=None, by=alice, at=at)

    assert not Retention.objects.exists()
    events = AuditEvent.objects.filter(event="retention.changed").order_by("pk")
    assert [event.detail for event in events] == [
        {"before": None, "days": 90},
        {"before": 90, "days": None},
    ]
    assert events[0].actor_name == alice.display_name
    assert events[0].address == "192.0.2.7"


def test_other_members_cannot(team: Team, bob: User, rita: User, mallory: User) -> None:
    for person in (bob, rita, mallory):
        with pytest.raises(NotAllowed):
            keep_content(team, days=1, by=person, at=timezone.now())

    assert not Retention.objects.exists()
