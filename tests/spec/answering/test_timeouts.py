""" "`expires_at = created_at + timeout_seconds`. ... There is no fifth status" (docs/protocol.md,
Timeouts)"""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.models import AuditEvent, User
from tests.fixtures.agent_client import AgentClient
from tests.types import Age, Answer, MakeDelivery
from wake.deadlines import time_out_overdue
from wake.models import Delivery
from wake.responses import release_due
from wake.undo import take_back


def window(caller: AgentClient, pk: str) -> tuple[str, bool, bool]:
    polled = caller.poll(pk)
    swept = next(item for item in caller.sweep()["deliveries"] if item["delivery_id"] == pk)
    assert swept == polled
    return polled["status"], polled["expired"], polled["late"]


def test_without_a_timeout(caller: AgentClient) -> None:
    """ "always there: null and false without a timeout" """
    polled = caller.poll(caller.deliver())

    assert (polled["expires_at"], polled["expired"], polled["late"]) == (None, False, False)


def test_within_the_window(caller: AgentClient, answer: Answer) -> None:
    pk = caller.deliver(timeout_seconds=60)

    assert window(caller, pk) == ("pending", False, False)
    answer(pk)
    assert window(caller, pk) == ("approved", False, False)


def test_an_expired_delivery_stays_pending_without_workers(caller: AgentClient, age: Age) -> None:
    """ "also without workers a read shows the truth"; "an expired delivery stays `pending`" """
    pk = caller.deliver(timeout_seconds=60)

    age(pk, seconds=59)
    assert window(caller, pk) == ("pending", False, False)
    age(pk, seconds=1)
    assert window(caller, pk) == ("pending", True, False)


def test_a_late_answer_leaves_expired_true(caller: AgentClient, answer: Answer, age: Age) -> None:
    """ "`expired` ... stays so; `late` means answered after `expires_at`"; "A late answer is
    stored, sent and labelled" """
    pk = caller.deliver(timeout_seconds=60)
    age(pk, seconds=61)
    time_out_overdue(at=Delivery.objects.get().created_at + timedelta(seconds=61))

    answer(pk)

    assert window(caller, pk) == ("approved", True, True)
    assert AuditEvent.objects.get(event="delivery.answered").detail["late"] is True


def test_an_answer_released_after_the_deadline_is_expired_but_not_late(
    caller: AgentClient, answer: Answer, age: Age
) -> None:
    """ "`expired` means that the window passed with no answer released" """
    pk = caller.deliver(timeout_seconds=60)
    answer(pk, held=True)
    age(pk, seconds=61)

    assert window(caller, pk) == ("approved", True, False)


def test_a_held_late_answer_is_not_readable(caller: AgentClient, answer: Answer, age: Age) -> None:
    pk = caller.deliver(timeout_seconds=60)
    age(pk, seconds=61)

    answer(pk, held=True)

    assert window(caller, pk) == ("pending", True, False)


def test_an_unanswered_question_times_out_once(make_delivery: MakeDelivery) -> None:
    """ "Workers close expired deliveries within seconds" """
    delivery = make_delivery(timeout_seconds=60)
    forever = make_delivery()
    assert delivery.expires_at is not None

    early = time_out_overdue(at=delivery.expires_at - timedelta(microseconds=1))
    closed = time_out_overdue(at=delivery.expires_at)
    again = time_out_overdue(at=delivery.expires_at + timedelta(days=365))

    assert (early, closed, again) == (0, 1, 0)
    timed_out = AuditEvent.objects.filter(event="delivery.timed_out")
    assert [event.object_id for event in timed_out] == [str(delivery.pk)]
    delivery.refresh_from_db()
    assert delivery.timed_out_at == delivery.expires_at
    assert delivery.status == "pending"
    event = AuditEvent.objects.get(event="delivery.timed_out")
    assert (event.object_id, event.actor_kind) == (str(delivery.pk), "system")
    forever.refresh_from_db()
    assert forever.timed_out_at is None


@pytest.mark.parametrize("held", [True, False])
def test_an_answer_in_time_prevents_the_time_out(
    make_delivery: MakeDelivery, answer: Answer, held: bool
) -> None:
    delivery = make_delivery(timeout_seconds=60)
    assert delivery.expires_at is not None

    answer(delivery, held=held)

    assert time_out_overdue(at=delivery.expires_at + timedelta(days=1)) == 0


def test_an_answer_that_is_taken_back_after_the_deadline_times_out(
    make_delivery: MakeDelivery, answer: Answer, alice: User
) -> None:
    delivery = make_delivery(timeout_seconds=60)
    assert delivery.expires_at is not None
    answer(delivery, held=True)
    after = delivery.expires_at + timedelta(seconds=1)

    take_back(delivery, by=alice, at=after)

    assert time_out_overdue(at=after) == 1


def test_a_time_out_is_no_answer(
    caller: AgentClient, answer: Answer, make_delivery: MakeDelivery
) -> None:
    """The five keys stay as they are, and the cursor does not move: nothing was answered."""
    delivery = make_delivery(timeout_seconds=60)
    assert delivery.expires_at is not None
    since = caller.sweep()["next_since"]

    time_out_overdue(at=delivery.expires_at)

    assert caller.sweep(since=since)["deliveries"] == []
    assert release_due(at=delivery.expires_at) == 0


def test_a_sweep_of_deadlines_closes_many(make_delivery: MakeDelivery) -> None:
    deliveries = [make_delivery(timeout_seconds=60) for _ in range(5)]
    at = deliveries[-1].created_at + timedelta(seconds=60)

    assert [time_out_overdue(at=at, at_once=3) for _ in range(3)] == [3, 2, 0]
