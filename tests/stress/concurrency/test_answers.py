"""Concurrent answers, polls and deadlines have one consistent result."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEvent, User
from tests.fixtures.agent_client import AgentClient
from tests.stress.concurrency.threads import at_once, retried
from tests.types import Age, Answer, MakeDelivery
from wake.deadlines import time_out_overdue
from wake.models import Delivery, Draft, Response
from wake.responses import AlreadyAnswered, respond
from wake.undo import PickedUp, take_back

ROUNDS = 15


def outcome(act: Callable[[], Any]) -> str:
    """Returns `done` or the name of the exception."""
    try:
        act()
    except (AlreadyAnswered, PickedUp, Response.DoesNotExist) as fact:
        return type(fact).__name__
    return "done"


def test_two_people_answer_at_once(make_delivery: MakeDelivery, alice: User, bob: User) -> None:
    """ "First answer wins, under a row lock" """
    people = {"approved": alice, "rejected": bob}

    def act(delivery: Delivery, status: str) -> str:
        return outcome(
            lambda: respond(
                delivery,
                by=people[status],
                status=status,
                content_hash=delivery.content_hash,
                at=timezone.now(),
            )
        )

    for _ in range(ROUNDS):
        delivery = make_delivery()

        outcomes = at_once(partial(act, delivery, "approved"), partial(act, delivery, "rejected"))

        assert sorted(outcomes) == ["AlreadyAnswered", "done"]
        winner = Response.objects.get(delivery=delivery)
        assert outcomes[["approved", "rejected"].index(winner.status)] == "done"
        assert winner.by == people[winner.status]
    assert AuditEvent.objects.filter(event="delivery.answered").count() == ROUNDS


@pytest.mark.parametrize("hold", [0, 10])
def test_a_double_click_is_one_answer(
    make_delivery: MakeDelivery, alice: User, settings: Any, hold: int
) -> None:
    settings.WAKE_HOLD_SECONDS = hold
    delivery = make_delivery()

    answers = at_once(
        *[
            lambda: respond(
                delivery,
                by=alice,
                status="approved",
                content_hash=delivery.content_hash,
                at=timezone.now(),
            )
        ]
        * 8
    )

    assert len({response.pk for response in answers}) == 1
    assert AuditEvent.objects.filter(event="delivery.answered").count() == 1


def test_an_answer_against_the_deadline_in_the_same_instant(
    make_delivery: MakeDelivery, alice: User
) -> None:
    """Either the delivery was answered and never timed out, or it timed out and the answer is
    late."""

    def answer(delivery: Delivery) -> None:
        assert delivery.expires_at is not None
        respond(
            delivery,
            by=alice,
            status="approved",
            content_hash=delivery.content_hash,
            at=delivery.expires_at,
        )

    def time_out(delivery: Delivery) -> None:
        assert delivery.expires_at is not None
        time_out_overdue(at=delivery.expires_at)

    for _ in range(ROUNDS):
        delivery = make_delivery(timeout_seconds=60)

        at_once(partial(answer, delivery), partial(time_out, delivery), partial(time_out, delivery))

        delivery.refresh_from_db()
        events = list(
            AuditEvent.objects.filter(object_id=str(delivery.pk))
            .order_by("pk")
            .values_list("event", flat=True)
        )
        assert delivery.answered_at == delivery.expires_at
        if delivery.timed_out_at is None:
            assert events == ["delivery.received", "delivery.answered"]
        else:
            assert events == ["delivery.received", "delivery.timed_out", "delivery.answered"]


def test_concurrent_sweeps_close_a_deadline_once(make_delivery: MakeDelivery) -> None:
    deliveries = [make_delivery(timeout_seconds=60) for _ in range(40)]
    at = deliveries[-1].expires_at
    assert at is not None

    closed = at_once(*[lambda: time_out_overdue(at=at)] * 6)

    assert sum(closed) == 40
    assert AuditEvent.objects.filter(event="delivery.timed_out").count() == 40


@pytest.mark.parametrize("is_released", [True, False])
def test_a_sent_answer_is_never_undone_under_load(
    caller: AgentClient,
    make_delivery: MakeDelivery,
    answer: Answer,
    age: Age,
    alice: User,
    is_released: bool,
) -> None:
    """ "stamped before the answer leaves, so what was handed out can never be taken back" """
    taken_back = 0

    def poll(pk: str) -> str:
        return str(retried(lambda: caller.get(f"response/{pk}")).json()["status"])

    def sweep(pk: str) -> str:
        page = retried(lambda: caller.get("responses", limit=200)).json()
        return next(str(item["status"]) for item in page["deliveries"] if item["delivery_id"] == pk)

    def undo(delivery: Delivery) -> str:
        return outcome(lambda: take_back(delivery, by=alice, at=timezone.now()))

    for _ in range(ROUNDS):
        delivery = make_delivery()
        pk = str(delivery.pk)
        answer(delivery, "redirected", held=not is_released, feedback="Like this.")
        if not is_released:
            age(delivery, seconds=60)

        seen_by_poll, seen_by_sweep, undone = at_once(
            partial(poll, pk), partial(sweep, pk), partial(undo, delivery)
        )

        if undone == "done":
            taken_back += 1
            assert (seen_by_poll, seen_by_sweep) == ("pending", "pending")
            assert not Response.objects.filter(delivery=delivery).exists()
            assert poll(pk) == "pending"
        else:
            assert undone == "PickedUp"
            assert poll(pk) == "redirected"
            assert "redirected" in {seen_by_poll, seen_by_sweep}
            assert Response.objects.get(delivery=delivery).sent_at is not None
    assert Draft.objects.count() == taken_back


def test_two_concurrent_undos_undo_once(
    make_delivery: MakeDelivery, answer: Answer, alice: User, bob: User
) -> None:
    def undo(delivery: Delivery, by: User) -> str:
        return outcome(lambda: take_back(delivery, by=by, at=timezone.now()))

    for _ in range(ROUNDS):
        delivery = make_delivery()
        answer(delivery, by=bob, held=True)

        outcomes = at_once(partial(undo, delivery, alice), partial(undo, delivery, bob))

        assert sorted(outcomes) == ["DoesNotExist", "done"]
    events = AuditEvent.objects.filter(event="response.taken_back")
    assert events.count() == ROUNDS
    assert not Delivery.objects.filter(answered_at__isnull=False).exists()
    assert timezone.now() >= events[0].at
