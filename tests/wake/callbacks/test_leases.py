"""A claimed callback belongs to one sender until its lease ends."""

from __future__ import annotations

from datetime import timedelta

from accounts.models import AuditEvent, User
from tests.types import Answered
from tests.wake.callbacks.rows import again, due
from wake.callbacks.attempts import LEASE, claim, settle
from wake.callbacks.http_client import HttpResult
from wake.callbacks.outbox import send_again
from wake.models import Callback, CallbackAttempt


def test_a_claimed_callback_is_not_claimed_again_before_its_lease_ends(answered: Answered) -> None:
    at = due(answered())

    (first,) = claim(at=at)
    meanwhile = claim(at=at + LEASE - timedelta(seconds=1))
    (second,) = claim(at=at + LEASE)

    assert meanwhile == []
    assert (first.tries, second.tries) == (1, 2)
    assert first.lease != second.lease


def test_a_sender_that_returns_after_its_lease_changes_nothing(
    answered: Answered,
) -> None:
    at = due(answered())
    (slow,) = claim(at=at)
    (quick,) = claim(at=at + LEASE)

    settle([(slow, HttpResult(status_code=500, error="", took_ms=65_000))], at=at + LEASE * 2)
    between = again(quick)
    settle([(quick, HttpResult(status_code=200))], at=at + LEASE * 2)
    settle([(slow, HttpResult(status_code=500))], at=at + LEASE * 3)

    assert (between.lease, between.due_at) == (quick.lease, quick.due_at)
    done = again(quick)
    assert done.delivered_at == at + LEASE * 2
    assert done.due_at is None
    codes = CallbackAttempt.objects.values_list("number", "status_code")
    assert list(codes) == [(1, 500), (2, 200), (1, 500)]


def test_a_callback_that_kills_its_senders_is_given_up_when_its_schedule_is_over(
    answered: Answered,
) -> None:
    callback = answered()
    begun = at = due(callback)

    for _ in range(10):
        assert claim(at=at) == [callback]  # and the sender dies
        at = max(due(callback), at + LEASE)
    assert claim(at=at) == []

    callback = again(callback)
    assert (callback.given_up_at, callback.due_at) == (at, None)
    assert at - begun > timedelta(days=3)
    assert AuditEvent.objects.get(event="callback.given_up").detail["tries"] == 10


def test_a_callback_of_a_killed_sender_is_sent_after_a_minute(answered: Answered) -> None:
    callback = answered()
    settle([(claim(at=(at := due(callback)))[0], HttpResult(status_code=500))], at=at)
    at = due(callback)

    claim(at=at)  # and the sender dies
    again_at = at + LEASE
    (claimed,) = claim(at=again_at)
    late = again_at + LEASE * 2
    settle([(claimed, HttpResult(status_code=200))], at=late)  # sent late, by a slow sender

    assert again(callback).delivered_at == late


def test_a_callback_of_killed_senders_is_sent_at_once_if_a_person_asks(
    answered: Answered, alice: User
) -> None:
    callback = answered()
    at = due(callback)
    for _ in range(3):
        claim(at=at)  # and the sender dies
        at += LEASE
    assert claim(at=at) == []

    send_again(callback, by=alice, at=at)

    assert claim(at=at) == [callback]


def test_a_callback_that_is_asked_for_twice_while_it_is_sent_keeps_its_tries(
    answered: Answered, alice: User
) -> None:
    callback = answered()
    at = due(callback)
    Callback.objects.filter(pk=callback.pk).update(tries=9)
    send_again(callback, by=alice, at=at)
    (claimed,) = claim(at=at)
    later = at + timedelta(seconds=1)
    send_again(callback, by=alice, at=later)

    settle([(claimed, HttpResult(status_code=500))], at=later)

    assert (again(callback).tries, again(callback).due_at) == (0, later)
