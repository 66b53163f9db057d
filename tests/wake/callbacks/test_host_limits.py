"""The number of concurrent callbacks is limited, and a slow host delays no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.db import models

from accounts.models import User
from tests.fixtures import wrapped
from tests.types import Answered
from tests.wake.callbacks.receiver import Receiver, answering, slowly
from tests.wake.callbacks.rows import again, answer_in, due
from wake.callbacks import retries, sending
from wake.callbacks.attempts import AT_ONCE, LEASE, claim, give_back, settle
from wake.callbacks.circuit_breaker import FAILURES, PROBES
from wake.callbacks.host_limits import PER_HOST
from wake.callbacks.http_client import HttpClient, HttpResult
from wake.callbacks.outbox import send_again
from wake.callbacks.retries import MAX_ATTEMPTS
from wake.callbacks.sending import send_due
from wake.models import Callback, CallbackAttempt, FailingTarget, Response
from wake.models.callbacks import Target
from wake.undo import PickedUp, take_back


def teams(claimed: list[Callback]) -> dict[int, int]:
    """Returns the number of callbacks of each team."""
    return Counter(callback.team_id for callback in claimed)


def test_a_claim_respects_the_limit_of_each_host(
    answered: Answered,
) -> None:
    crowd = [answered() for _ in range(PER_HOST + 5)]
    Callback.objects.filter(pk__in=[each.pk for each in crowd]).update(host="crowd.example")
    at = due(answered())  # the youngest callback, to another host

    first = claim(at=at, busy={again(crowd[0]).target: 3})
    rest = claim(at=at)

    hosts = [callback.host for callback in first]
    assert hosts.count("crowd.example") == PER_HOST - 3
    assert len(hosts) == PER_HOST - 2
    oldest = [each.pk for each in crowd[: PER_HOST - 3]]
    assert [callback.pk for callback in first if callback.host == "crowd.example"] == oldest
    assert len(rest) == 8


def test_a_claim_takes_the_oldest_and_no_more_than_there_is_room(answered: Answered) -> None:
    callbacks = [answered() for _ in range(4)]
    at = due(callbacks[-1])

    claimed = claim(at=at, room=3)

    assert claimed == callbacks[:3]
    assert claim(at=at, room=0) == []
    assert AT_ONCE > PER_HOST


def test_the_rest_of_a_long_queue_is_searched_only_on_request(answered: Answered) -> None:
    crowd = [answered() for _ in range(5)]
    Callback.objects.filter(pk__in=[each.pk for each in crowd]).update(host="crowd.example")
    elsewhere = answered()
    at = due(elsewhere)

    oldest = claim(at=at, room=3, further=False)
    Callback.objects.update(leased_until=None)
    with_the_rest = claim(at=at, room=3)

    assert [each.pk for each in oldest] == [each.pk for each in crowd[:3]]
    assert [each.pk for each in with_the_rest] == [crowd[0].pk, crowd[1].pk, elsewhere.pk]


def test_many_are_claimed_and_settled_in_few_statements(
    answered: Answered, django_assert_max_num_queries: Any
) -> None:
    at = due([answered() for _ in range(PER_HOST)][-1])

    with django_assert_max_num_queries(7):
        claimed = claim(at=at)
    with django_assert_max_num_queries(8):
        settle([(callback, HttpResult(status_code=200)) for callback in claimed], at=at)

    assert len(claimed) == PER_HOST
    assert not Callback.objects.unfinished().exists()


def test_many_callbacks_of_one_team_do_not_block_another_team(
    answered: Answered, other_team_id: int
) -> None:
    crowd = [answered() for _ in range(PER_HOST + 5)]
    late, later = answered(), answered()
    Callback.objects.filter(pk__in=[late.pk, later.pk]).update(team=other_team_id)
    at = due(later)
    ours, theirs = crowd[0].target, again(late).target

    first = claim(at=at)
    none_free = claim(at=at, busy={ours: PER_HOST - 1, theirs: 1})
    when_one_is = claim(at=at, busy={ours: PER_HOST - 1})

    assert [each.pk for each in first] == [*(each.pk for each in crowd[: PER_HOST - 1]), late.pk]
    assert none_free == []
    assert [each.pk for each in when_one_is] == [later.pk]


def test_a_host_limit_counts_the_callbacks_of_all_teams(
    answered: Answered, other_team_id: int
) -> None:
    at = due([answered() for _ in range(5)][-1])
    host = Callback.objects.values_list("host", flat=True)[0]

    claimed = claim(at=at, busy={Target(other_team_id, host): PER_HOST - 2})

    assert len(claimed) == 2


def test_a_probe_and_another_teams_callbacks_do_not_wait_for_each_other(
    answered: Answered, other_team_id: int
) -> None:
    broken, healthy = [answered() for _ in range(3)], [answered() for _ in range(3)]
    Callback.objects.filter(pk__in=[each.pk for each in healthy]).update(team=other_team_id)
    at = due(healthy[-1])
    trouble = FailingTarget.objects.create(
        team_id=broken[0].team_id, host=broken[0].host, failing_since=at, failures=FAILURES
    )

    beside_each_other = claim(at=at)
    Callback.objects.update(leased_until=None, lease=None)
    while_it_is_asked = claim(at=at, busy={trouble.key: PROBES})
    Callback.objects.update(leased_until=None, lease=None)
    while_the_other_is_sent = claim(at=at, busy={again(healthy[0]).target: 2})

    assert teams(beside_each_other) == {broken[0].team_id: PROBES, other_team_id: 3}
    assert teams(while_it_is_asked) == {other_team_id: 3}
    assert teams(while_the_other_is_sent) == {broken[0].team_id: PROBES, other_team_id: 3}


def test_a_slow_host_delays_no_other_callbacks(
    receiver: Receiver, answered: Answered, start_receiver: Callable[..., Receiver]
) -> None:
    slow, later = answered(url=receiver.url + "/slow"), answered()
    start = due(later)
    Callback.objects.filter(pk=later.pk).update(due_at=start + timedelta(seconds=1))
    receiver.then(slowly(3))
    ticks = count()

    settled = send_due(
        clock=lambda: start + timedelta(seconds=next(ticks) / 5),
        open_client=lambda: HttpClient(deadline=2),
    )

    assert settled == 2
    assert again(later).delivered_at is not None
    assert [each.callback_id for each in CallbackAttempt.objects.all()] == [later.pk, slow.pk]
    assert slow.attempts.get().error == "timed out"


def test_a_host_that_keeps_up_gets_more_claimed_than_sent_at_once(answered: Answered) -> None:
    crowd = [answered() for _ in range(PER_HOST + 5)]
    at, host = due(crowd[-1]), crowd[0].host

    claimed = claim(at=at, busy={crowd[0].target: 4}, ahead={host: 6, "other.example": 50})

    assert claimed == crowd[: PER_HOST + 2]


def test_what_was_claimed_and_not_sent_is_given_back_as_it_was(answered: Answered) -> None:
    unsent, sent_before = answered(), answered()
    at = due(sent_before)
    (first, second) = claim(at=at)
    settle([(second, HttpResult(status_code=503))], at=at)
    later = due(sent_before)
    (second,) = claim(at=later)

    give_back([first, second], at=later)

    assert [each.pk for each in claim(at=later)] == [unsent.pk, sent_before.pk]
    assert [again(each).tries for each in (unsent, sent_before)] == [1, 2]
    assert not CallbackAttempt.objects.filter(callback=unsent).exists()


def test_the_answer_of_a_callback_that_was_given_back_can_be_taken_back(
    answered: Answered, alice: User
) -> None:
    callback = answered()
    at = due(callback)

    give_back(claim(at=at), at=at)

    take_back(answer_in(callback).delivery, by=alice, at=at)
    assert not Callback.objects.exists()


def test_an_answer_that_was_sent_stays_final_when_its_callback_is_given_back(
    answered: Answered, alice: User
) -> None:
    """ "Send again" resets the tries, so the tries do not tell whether the callback was sent
    before."""
    callback = answered()
    at = due(callback)
    settle([(claim(at=at)[0], HttpResult(status_code=410))], at=at)
    later = at + timedelta(minutes=5)
    send_again(callback, by=alice, at=later)

    give_back(claim(at=later), at=later)

    assert again(callback).tries == 0
    with pytest.raises(PickedUp):
        take_back(answer_in(callback).delivery, by=alice, at=later)


def test_an_answer_that_killed_senders_may_have_sent_stays_final(
    answered: Answered, alice: User
) -> None:
    callback = answered()
    at = due(callback)
    claim(at=at)  # and the sender dies
    Callback.objects.filter(pk=callback.pk).update(tries=MAX_ATTEMPTS)
    later = at + LEASE
    send_again(callback, by=alice, at=later)

    give_back(claim(at=later), at=later)

    assert not CallbackAttempt.objects.exists()
    with pytest.raises(PickedUp):
        take_back(answer_in(callback).delivery, by=alice, at=later)


def test_an_answer_whose_callback_killed_every_sender_is_final(
    answered: Answered, alice: User
) -> None:
    callback = answered()
    at = due(callback)
    claim(at=at)  # and the sender dies
    Callback.objects.filter(pk=callback.pk).update(tries=MAX_ATTEMPTS)
    is_final_before = Response.objects.get().is_final

    claim(at=at + LEASE)

    assert again(callback).given_up_at is not None
    assert (is_final_before, Response.objects.get().is_final) == (False, True)
    with pytest.raises(PickedUp):
        take_back(answer_in(callback).delivery, by=alice, at=at + LEASE)


def test_a_callback_of_a_killed_sender_that_is_given_back_is_due_at_once(
    answered: Answered,
) -> None:
    callback = answered()
    at = due(callback)
    claim(at=at)  # and the sender dies
    later = at + LEASE

    give_back(claim(at=later), at=later)

    assert (again(callback).tries, due(callback)) == (1, later)


def test_a_callback_that_is_given_back_after_a_person_asked_for_it_keeps_its_tries(
    answered: Answered, alice: User
) -> None:
    callback = answered()
    at = due(callback)
    Callback.objects.filter(pk=callback.pk).update(tries=9)
    claimed = claim(at=at)
    send_again(callback, by=alice, at=at)  # the callback's schedule starts again, without a try

    give_back(claimed, at=at)

    assert again(callback).tries == 0


def test_a_callback_that_another_sender_claimed_since_is_not_given_back(
    answered: Answered,
) -> None:
    callback = answered()
    at = due(callback)
    late = claim(at=at)
    (mine,) = claim(at=at + LEASE)

    give_back(late, at=at + LEASE)

    assert (again(callback).lease, again(callback).tries) == (mine.lease, 2)


def test_when_a_host_fails_what_was_claimed_for_it_is_not_sent(
    receiver: Receiver, answered: Answered, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Callbacks that are settled together count as one failure, and a few failures stop the
    host."""
    # A claim takes more callbacks for a host that keeps up.
    monkeypatch.setattr(sending, "PER_HOST", 3)
    callbacks = [answered() for _ in range(PER_HOST * 2)]
    at = due(callbacks[-1])
    receiver.then(*[answering(503)] * 100)

    sending.send_due(clock=lambda: at)

    assert FAILURES <= CallbackAttempt.objects.count() <= 3 * FAILURES
    rows = Callback.objects.annotate(made=models.Count("attempts")).values_list("tries", "made")
    assert all(tries == made for tries, made in rows)


def test_a_hundred_concurrent_callbacks_arrive_once(
    receiver: Receiver, answered: Answered, django_assert_max_num_queries: Any
) -> None:
    callbacks = [answered() for _ in range(100)]

    with django_assert_max_num_queries(500):
        assert send_due() == 100

    ids = [request.headers["webhook-id"] for request in receiver.received]
    assert sorted(ids) == sorted(str(callback.pk) for callback in callbacks)
    assert not Callback.objects.unfinished().exists()


def test_an_attempt_that_cannot_be_stored_delays_no_other(
    receiver: Receiver, answered: Answered
) -> None:
    """A header of one receiver once stopped the callbacks to all receivers (Retry-After: 31 Dec
    99999999999)."""
    broken, other = answered(), answered()
    receiver.then(answering(500))
    at = due(other)

    with wrapped.failing(retries, "wait", OverflowError("date value out of range")):
        send_due(clock=lambda: at)

    first, second = again(broken), again(other)
    arrived, lost = (first, second) if first.delivered_at else (second, first)
    assert (arrived.delivered_at, arrived.attempts.count()) == (at, 1)
    assert (lost.due_at, lost.leased_until) == (due(lost), at + LEASE)
    assert len(receiver.received) == 2
