"""A failed callback is tried again for about three days, or when a person asks for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from accounts.access.objects import NotAllowed
from accounts.models import AuditEvent, User
from tests.types import Answered
from tests.wake.callbacks.receiver import Receiver, answering
from tests.wake.callbacks.rows import again, answer_in, due
from wake import signals
from wake.callbacks.attempts import LEASE, claim, settle
from wake.callbacks.http_client import HttpResult
from wake.callbacks.outbox import AlreadyDelivered, send_again
from wake.callbacks.retries import MAX_ATTEMPTS
from wake.callbacks.sending import send_due
from wake.models import Callback, CallbackAttempt

HOUR = 3600
SCHEDULE = [5, 300, 1800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]


def fail(callback: Callback, *, status: int = 500, retry_after: str = "", at: datetime) -> float:
    """Returns the seconds until the next attempt."""
    (claimed,) = claim(at=at)
    settle([(claimed, HttpResult(status_code=status, retry_after=retry_after))], at=at)
    due_at = again(callback).due_at
    assert due_at is not None
    return (due_at - at).total_seconds()


def test_a_callback_is_given_up_after_ten_scheduled_attempts(answered: Answered) -> None:
    callback = answered()

    for seconds in SCHEDULE:
        assert seconds <= fail(callback, at=due(callback)) <= seconds * 1.2
    at = due(callback)
    (last,) = claim(at=at)
    settle([(last, HttpResult(error="timed out"))], at=at)

    callback = again(callback)
    assert (callback.due_at, callback.given_up_at, callback.tries) == (None, at, 10)
    assert claim(at=at + timedelta(days=30)) == []
    numbers = CallbackAttempt.objects.values_list("number", flat=True)
    assert list(numbers) == list(range(1, 11))
    event = AuditEvent.objects.get(event="callback.given_up")
    assert event.object_id == str(answer_in(callback).delivery_id)
    assert event.detail == {"host": callback.host, "tries": 10}


def test_a_retry_waits_until_it_is_due(answered: Answered) -> None:
    callback = answered()
    fail(callback, at=due(callback))
    at = due(callback)

    assert claim(at=at - timedelta(microseconds=1)) == []
    assert claim(at=at) == [callback]


def test_retries_are_spread_out(answered: Answered) -> None:
    callbacks = [answered() for _ in range(12)]
    at = due(callbacks[-1])

    settle([(each, HttpResult(status_code=500)) for each in claim(at=at)], at=at)

    assert len({due(callback) for callback in callbacks}) > 6


def test_a_receiver_that_comes_back_gets_the_callback(
    receiver: Receiver, answered: Answered
) -> None:
    callback = answered()
    receiver.then(answering(500), answering(502))

    for _ in range(3):
        at = due(callback)
        send_due(clock=lambda at=at: at)  # type: ignore[misc]

    assert again(callback).delivered_at == at
    codes = callback.attempts.values_list("status_code", flat=True)
    assert list(codes) == [500, 502, 200]
    assert len(receiver.received) == 3


def test_410_stops_at_once(receiver: Receiver, answered: Answered) -> None:
    callback = answered()
    receiver.then(answering(410))

    send_due()

    callback = again(callback)
    assert callback.due_at is None
    assert callback.given_up_at is not None
    assert callback.tries == 1


AT = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
IN_TWO_MINUTES = format_datetime(AT + timedelta(minutes=2), usegmt=True)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        ("120", 120),
        (" 120 ", 120),
        (IN_TWO_MINUTES, 120),
        (IN_TWO_MINUTES.replace("GMT", "-0000"), 120),
        ("1", 5),
        ("0", 5),
        ("-120", 5),
        ("soon", 5),
        ("1.5", 5),
        ("٣٠٠", 5),
        ("Fri, 32 Foo 2026", 5),
        (format_datetime(AT - timedelta(days=1), usegmt=True), 5),
        ("Mon, 01 Jan 0100 00:00:00 GMT", 5),
        ("9" * 9, 24 * HOUR),
        ("9" * 5_000, 5),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 24 * HOUR),
        ("Fri, 31 Dec 99999999999999999999 23:59:59 GMT", 5),
        ("Fri, 31 Dec 2026 23:59:59 +99999999999999999999", 5),
    ],
)
def test_retry_after_is_respected_within_limits(
    answered: Answered, status: int, retry_after: str, seconds: int
) -> None:
    callback = answered()
    Callback.objects.update(due_at=AT)

    wait = fail(callback, status=status, retry_after=retry_after, at=AT)

    assert seconds <= wait <= seconds * 1.2


def test_retry_after_comes_from_the_answers_header(receiver: Receiver, answered: Answered) -> None:
    callback = answered()
    receiver.then(answering(503, Retry_After="600"))
    at = due(callback)

    send_due(clock=lambda: at)

    assert 600 <= (due(callback) - at).total_seconds() <= 720


@pytest.mark.parametrize("status", [200 + 100, 404, 500])
def test_retry_after_means_nothing_elsewhere(answered: Answered, status: int) -> None:
    callback = answered()

    assert fail(callback, status=status, retry_after="3000", at=due(callback)) <= 6


# By hand ------------------------------------------------------------------------------------------


def test_a_person_brings_a_scheduled_retry_forward(
    receiver: Receiver, answered: Answered, bob: User
) -> None:
    callback = answered()
    fail(callback, at=due(callback))
    fail(callback, at=due(callback))
    at = due(callback) - timedelta(minutes=4)

    send_again(callback, by=bob, at=at, address="192.0.2.7")
    send_due(clock=lambda: at)

    assert again(callback).delivered_at == at
    last = callback.attempts.last()
    assert last is not None
    assert (last.number, last.by_name) == (3, "bob")
    assert callback.attempts.filter(by_name="").count() == 2
    event = AuditEvent.objects.get(event="callback.sent_again")
    assert (event.actor_name, event.address) == ("bob", "192.0.2.7")
    assert event.object_id == str(answer_in(callback).delivery_id)


def test_manual_attempts_do_not_change_the_schedule(
    receiver: Receiver, answered: Answered, bob: User
) -> None:
    callback = answered()
    fail(callback, at=due(callback))
    at = due(callback)
    planned = at + timedelta(seconds=fail(callback, at=at))
    receiver.then(*[answering(500)] * 5)

    for seconds in range(10, 60, 10):
        asked_at = at + timedelta(seconds=seconds)
        send_again(callback, by=bob, at=asked_at)
        send_due(clock=lambda asked_at=asked_at: asked_at)  # type: ignore[misc]

    assert callback.attempts.filter(by_name="bob").count() == 5
    assert again(callback).tries == 2
    assert abs((due(callback) - planned).total_seconds()) <= 60
    later = due(callback)
    assert 1800 <= fail(callback, at=later) <= 2160


def test_a_manual_attempt_during_the_last_wait_gives_nothing_up(
    answered: Answered, bob: User
) -> None:
    callback = answered()
    Callback.objects.filter(pk=callback.pk).update(tries=MAX_ATTEMPTS - 2)
    fail(callback, at=due(callback))
    at = due(callback) - timedelta(hours=1)

    send_again(callback, by=bob, at=at)
    fail(callback, at=at)

    assert again(callback).given_up_at is None
    assert again(callback).tries == MAX_ATTEMPTS - 1


def test_a_manual_attempt_respects_retry_after(answered: Answered, bob: User) -> None:
    callback = answered()
    fail(callback, at=due(callback))
    fail(callback, at=due(callback))
    at = due(callback) - timedelta(minutes=4)

    send_again(callback, by=bob, at=at)

    assert 3600 <= fail(callback, status=503, retry_after="3600", at=at) <= 4320


def test_a_person_retries_a_callback_that_was_given_up(
    receiver: Receiver, answered: Answered, bob: User
) -> None:
    callback = answered()
    at = due(callback)
    (claimed,) = claim(at=at)
    settle([(claimed, HttpResult(status_code=410))], at=at)
    at += timedelta(days=5)
    receiver.then(answering(500))

    send_again(callback, by=bob, at=at)
    send_due(clock=lambda: at)

    first = callback.attempts.last()
    assert first is not None
    assert (first.number, first.by_name, first.status_code) == (1, "bob", 500)
    assert 5 <= (due(callback) - at).total_seconds() <= 6
    later = due(callback)
    send_due(clock=lambda: later)
    assert again(callback).delivered_at == later
    assert again(callback).given_up_at is None
    second = callback.attempts.last()
    assert second is not None
    assert second.by_name == ""


def test_a_retry_request_during_an_attempt_is_remembered(answered: Answered, bob: User) -> None:
    callback = answered()
    at = due(callback)
    (claimed,) = claim(at=at)

    asked_at = at + timedelta(seconds=1)
    send_again(callback, by=bob, at=asked_at)
    assert claim(at=asked_at) == []  # the earlier sender still has the lease
    settle([(claimed, HttpResult(status_code=500))], at=at + timedelta(seconds=2))

    assert due(callback) == asked_at
    (second,) = claim(at=at + timedelta(seconds=3))
    settle([(second, HttpResult(status_code=200))], at=at + timedelta(seconds=3))
    assert list(callback.attempts.values_list("by_name", flat=True)) == ["", "bob"]


def test_a_retry_request_during_the_last_attempt_starts_a_new_series(
    answered: Answered, bob: User
) -> None:
    """If the count continued, the callback would be given up without another attempt."""
    callback = answered()
    Callback.objects.filter(pk=callback.pk).update(tries=MAX_ATTEMPTS - 1)
    at = due(callback)
    (last,) = claim(at=at)

    send_again(callback, by=bob, at=at + timedelta(seconds=1))
    settle([(last, HttpResult(status_code=500))], at=at + timedelta(seconds=2))

    (first,) = claim(at=at + timedelta(seconds=3))
    settle([(first, HttpResult(status_code=200))], at=at + timedelta(seconds=3))
    assert list(callback.attempts.values_list("number", "by_name")) == [
        (MAX_ATTEMPTS, ""),
        (1, "bob"),
    ]


def test_a_retry_request_during_a_successful_attempt_sends_no_second(
    answered: Answered, bob: User
) -> None:
    callback = answered()
    at = due(callback)
    (claimed,) = claim(at=at)
    send_again(callback, by=bob, at=at + timedelta(seconds=1))

    settle([(claimed, HttpResult(status_code=200))], at=at + timedelta(seconds=2))

    assert claim(at=at + LEASE * 2) == []


def test_a_delivered_callback_is_never_sent_again(
    receiver: Receiver, answered: Answered, bob: User
) -> None:
    callback = answered()
    send_due()

    with pytest.raises(AlreadyDelivered):
        send_again(callback, by=bob, at=due_now(callback))

    assert send_due() == 0


def due_now(callback: Callback) -> datetime:
    at = again(callback).delivered_at
    assert at is not None
    return at


def test_readers_and_outsiders_cannot_retry(answered: Answered, rita: User, mallory: User) -> None:
    callback = answered()
    at = due(callback)
    fail(callback, at=at)

    for person in (rita, mallory):
        with pytest.raises(NotAllowed):
            send_again(callback, by=person, at=at)

    assert not AuditEvent.objects.filter(event="callback.sent_again").exists()


def test_a_retry_request_wakes_the_worker_on_commit(
    answered: Answered, bob: User, django_capture_on_commit_callbacks: Any
) -> None:
    callback = answered()
    fail(callback, at=due(callback))
    rings: list[Any] = []
    signals.work_due.connect(ring := lambda **given: rings.append(given))

    with django_capture_on_commit_callbacks(execute=True):
        send_again(callback, by=bob, at=due(callback))
        assert rings == []

    assert len(rings) == 1
    signals.work_due.disconnect(ring)
