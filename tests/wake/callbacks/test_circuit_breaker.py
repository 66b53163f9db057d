"""A failing host gets fewer attempts, other callbacks do not wait for it, and none is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.db import transaction

from accounts.access.objects import NotAllowed
from accounts.models import AuditEvent, User
from tests.stress.concurrency.threads import at_once
from tests.types import Answered
from tests.wake.callbacks.receiver import Receiver, answering
from tests.wake.callbacks.rows import again, due
from wake.callbacks.attempts import claim, settle
from wake.callbacks.circuit_breaker import (
    FAILURES,
    LONGEST,
    PROBES,
    SHORTEST,
    SUSPEND_AFTER,
    hold_back,
    requeue_orphans,
    resume,
)
from wake.callbacks.http_client import HttpResult
from wake.callbacks.outbox import send_again
from wake.callbacks.sending import send_due
from wake.models import Callback, FailingTarget

DEAD = "dead.example.com"
TIMED_OUT = HttpResult(error="timed out")


@pytest.fixture
def dead(answered: Answered) -> Callable[[int], list[Callback]]:
    """Makes callbacks to a host that does not listen."""

    def make(number: int) -> list[Callback]:
        due_callbacks = [answered() for _ in range(number)]
        Callback.objects.filter(pk__in=[each.pk for each in due_callbacks]).update(host=DEAD)
        return due_callbacks

    return make


def fail(at: datetime, outcome: HttpResult = TIMED_OUT) -> int:
    """Settles every due callback with the outcome, one at a time as they become due again. Returns
    how many there were."""
    claimed = claim(at=at)
    for callback in claimed:
        settle([(callback, outcome)], at=at)
    return len(claimed)


def test_after_a_few_failures_one_callback_probes_and_the_others_wait(
    dead: Callable[[int], list[Callback]],
) -> None:
    failed = dead(FAILURES)
    at = due(failed[-1])
    assert fail(at) == FAILURES
    waiting = dead(4)

    assert claim(at=due(waiting[-1])) == []

    target = FailingTarget.objects.get()
    assert target.postponed_until is not None
    assert {due(callback) for callback in waiting} == {target.postponed_until}
    assert {again(callback).tries for callback in waiting} == {0}
    Callback.objects.filter(pk__in=[each.pk for each in failed]).update(due_at=None)
    assert len(claim(at=target.postponed_until)) == PROBES


def test_an_unreachable_host_delays_no_other_host_or_team(
    dead: Callable[[int], list[Callback]], answered: Answered, other_team_id: int
) -> None:
    at = due(dead(FAILURES)[-1])
    fail(at)
    at += timedelta(seconds=1)
    crowd, theirs, elsewhere = dead(60), dead(1)[0], answered()
    Callback.objects.filter(pk=theirs.pk).update(team=other_team_id)
    waiting = [callback.pk for callback in (*crowd, theirs, elsewhere)]
    Callback.objects.filter(pk__in=waiting).update(due_at=at)

    claimed = claim(at=at)

    assert {callback.pk for callback in claimed} == {theirs.pk, elsewhere.pk}
    assert all(due(callback) > at for callback in crowd)


def test_the_wait_grows_with_the_time_of_failing(
    dead: Callable[[int], list[Callback]],
) -> None:
    at = due(dead(FAILURES)[-1])
    waits = []

    for hours in (0, 1, 20):
        now = at + timedelta(hours=hours)
        Callback.objects.update(due_at=now, tries=1)
        fail(now)
        target = FailingTarget.objects.get()
        assert target.postponed_until is not None
        waits.append(target.postponed_until - now)

    assert waits == [SHORTEST, LONGEST, LONGEST]


def test_one_success_closes_the_circuit(
    receiver: Receiver, answered: Answered, dead: Callable[[int], list[Callback]]
) -> None:
    callbacks = dead(FAILURES + 3)
    at = due(callbacks[-1])
    fail(at)
    at += LONGEST
    Callback.objects.update(due_at=at)

    send_due(clock=lambda: at)

    assert len(receiver.received) == len(callbacks)
    assert not FailingTarget.objects.exists()


def test_a_refusing_host_is_retried_on_schedule(
    dead: Callable[[int], list[Callback]],
) -> None:
    at = due(dead(FAILURES * 2)[-1])

    fail(at, HttpResult(status_code=404))

    target = FailingTarget.objects.get()
    assert (target.failures, target.postponed_until) == (0, None)
    assert not target.holds_back(at)


def test_callbacks_are_suspended_after_five_days_without_a_success(
    dead: Callable[[int], list[Callback]], receiver: Receiver, bob: User
) -> None:
    missed = dead(3)
    at = due(missed[-1])
    fail(at)
    later = at + SUSPEND_AFTER
    Callback.objects.update(due_at=later)
    fail(later)
    missed += dead(2)
    parked_at = later + timedelta(days=1)
    assert claim(at=parked_at) == []
    target = FailingTarget.objects.get()
    assert target.suspended_at == later
    assert {again(callback).due_at for callback in missed} == {None}

    count = resume(target, by=bob, at=parked_at)
    send_due(clock=lambda: parked_at)

    assert count == len(missed)
    assert len(receiver.received) == len(missed)
    assert all(again(callback).delivered_at == parked_at for callback in missed)
    assert not FailingTarget.objects.exists()
    events = AuditEvent.objects.filter(event__startswith="callbacks.").order_by("at")
    assert [(event.event, event.actor_name, event.object_name) for event in events] == [
        ("callbacks.rested", "Wake", DEAD),
        ("callbacks.resumed", "bob", DEAD),
    ]


def test_two_failures_days_apart_do_not_suspend(
    dead: Callable[[int], list[Callback]],
) -> None:
    gone = dead(1)[0]
    at = due(gone)
    fail(at, HttpResult(status_code=410))
    later = at + SUSPEND_AFTER * 2
    hit = dead(1)[0]
    Callback.objects.filter(pk=hit.pk).update(due_at=later)

    fail(later)

    target = FailingTarget.objects.get()
    assert (target.failing_since, target.failures, target.suspended_at) == (later, 1, None)
    assert due(hit) > later


@pytest.mark.django_db(transaction=True)
def test_callbacks_held_back_during_a_resume_are_sent_too(
    dead: Callable[[int], list[Callback]], bob: User
) -> None:
    seen_before, seen_meanwhile = dead(2)
    at = due(seen_meanwhile)
    target = FailingTarget.objects.create(
        team_id=seen_before.team_id, host=DEAD, failing_since=at - SUSPEND_AFTER, suspended_at=at
    )
    is_held = threading.Event()

    def hold() -> None:
        with transaction.atomic():
            hold_back({target: [seen_meanwhile.pk]}, at=at)
            is_held.set()
            # During this time, the other transaction looks at the waiting callbacks, and nothing is
            # committed yet.
            time.sleep(0.5)

    def ask() -> None:
        is_held.wait(30)
        resume(FailingTarget.objects.get(), by=bob, at=at)

    at_once(hold, ask)
    with transaction.atomic():
        hold_back({target: [seen_before.pk]}, at=at)  # the other transaction has seen this callback

    assert [again(seen_meanwhile).due_at, again(seen_before).due_at] == [at, due(seen_before)]
    assert len(claim(at=at)) == 2


def test_resuming_sends_given_up_callbacks_but_no_410(
    dead: Callable[[int], list[Callback]], alice: User
) -> None:
    given_up, gone = dead(2)
    at = due(gone)
    fail(at)
    Callback.objects.update(due_at=None, given_up_at=at)
    Callback.objects.filter(pk=given_up.pk).update(tries=10)
    FailingTarget.objects.update(suspended_at=at)

    count = resume(FailingTarget.objects.get(), by=alice, at=at)

    assert count == 1
    assert (again(given_up).due_at, again(given_up).tries) == (at, 0)
    assert again(gone).due_at is None


def test_only_people_who_may_answer_can_resume(
    dead: Callable[[int], list[Callback]], rita: User, mallory: User
) -> None:
    at = due(dead(1)[0])
    fail(at)
    target = FailingTarget.objects.get()

    for outsider in (rita, mallory):
        with pytest.raises(NotAllowed):
            resume(target, by=outsider, at=at)

    assert FailingTarget.objects.get() == target


def test_a_manual_attempt_that_succeeds_resumes_the_target(
    dead: Callable[[int], list[Callback]], receiver: Receiver, bob: User
) -> None:
    callbacks = dead(3)
    at = due(callbacks[-1])
    fail(at)
    FailingTarget.objects.update(suspended_at=at)
    Callback.objects.update(due_at=None)

    send_again(callbacks[0], by=bob, at=at)
    send_due(clock=lambda: at)

    assert len(receiver.received) == 3
    assert not FailingTarget.objects.exists()


def test_manual_retries_follow_the_schedule(
    receiver: Receiver, answered: Answered, bob: User
) -> None:
    callback = answered()
    receiver.then(*[answering(500)] * (FAILURES + 1))
    for _ in range(FAILURES):
        at = due(callback)
        send_due(clock=lambda at=at: at)  # type: ignore[misc]

    send_again(callback, by=bob, at=at)
    send_due(clock=lambda: at)

    assert due(callback) - at < timedelta(days=2)
    assert FailingTarget.objects.get().postponed_until is None


def test_a_callback_that_is_suspended_without_a_reason_becomes_due(
    dead: Callable[[int], list[Callback]], answered: Answered, other_team_id: int
) -> None:
    suspended, orphaned, given_up = dead(1)[0], answered(), answered()
    theirs = dead(1)[0]
    at = due(theirs)
    FailingTarget.objects.create(
        team_id=suspended.team_id, host=DEAD, failing_since=at - SUSPEND_AFTER, suspended_at=at
    )
    FailingTarget.objects.create(team_id=suspended.team_id, host=orphaned.host, failing_since=at)
    Callback.objects.update(due_at=None)
    Callback.objects.filter(pk=given_up.pk).update(given_up_at=at)
    Callback.objects.filter(pk=theirs.pk).update(team=other_team_id)

    requeued = requeue_orphans(at=at)

    assert requeued == 2
    assert requeue_orphans(at=at) == 0
    assert {each.pk for each in claim(at=at)} == {orphaned.pk, theirs.pk}
    assert again(suspended).due_at is None
