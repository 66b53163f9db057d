"""A channel sends failures of approved actions only if the channel's owner chose these events."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from accounts.models import ApiKey, Membership, Team, User
from inbox.models import ChannelEvent, Notification
from inbox.reading.readings import mark_read
from tests.fixtures.agent_client import AgentClient
from tests.inbox.notifications.channels.conftest import MakeChannel, work
from tests.inbox.notifications.times import utc
from tests.types import Answer, MakeDelivery, MakeRule
from tests.wake.callbacks.receiver import Receiver
from wake import outcomes
from wake.acknowledgements import acknowledge
from wake.models import Delivery

NINE = utc("2026-11-02 09:00")
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
OTHERS = [ChannelEvent.QUESTION, ChannelEvent.ALERT, ChannelEvent.CLOSING, ChannelEvent.ASSUMED]


@pytest.fixture
def approved(make_delivery: MakeDelivery, answer: Answer) -> Callable[..., Delivery]:
    def make(**fields: str) -> Delivery:
        delivery = make_delivery(at=NINE - HOUR, timeout_seconds=7200, **fields)
        answer(delivery, at=NINE - HOUR + MINUTE)
        return delivery

    return make


def fail(key: ApiKey, delivery: Delivery, summary: str = "") -> None:
    outcomes.report(key, delivery.pk, status="failed", summary=summary, at=NINE)


def test_a_channel_that_chose_it_sends_it_once(
    bob: User,
    key: ApiKey,
    make_channel: MakeChannel,
    approved: Callable[..., Delivery],
    inbox_of_chat: Receiver,
) -> None:
    make_channel(bob, at=NINE, events=[ChannelEvent.FAILED])
    delivery = approved(headline="Refund EUR 180")
    fail(key, delivery, "a secret")

    assert [work(NINE), work(NINE + MINUTE), work(NINE + HOUR)] == [0, 1, 0]

    (request,) = inbox_of_chat.received
    assert request.json["type"] == "wake.failed"
    assert request.json["title"] == "research-agent-01 failed after an approval"
    [named] = request.json["deliveries"]
    assert (named["headline"], named["deadline"]) == ("Refund EUR 180", None)
    assert b"secret" not in request.body


def test_two_failures_are_one_message(
    team: Team,
    key: ApiKey,
    make_channel: MakeChannel,
    approved: Callable[..., Delivery],
    inbox_of_chat: Receiver,
) -> None:
    make_channel(team, at=NINE, events=[ChannelEvent.FAILED])
    for _ in range(2):
        fail(key, approved())

    assert work(NINE + MINUTE) == 1
    assert inbox_of_chat.received[0].json["title"] == "2 approved actions failed"


def test_a_channel_that_did_not_choose_it_sends_nothing(
    bob: User, key: ApiKey, make_channel: MakeChannel, approved: Callable[..., Delivery]
) -> None:
    make_channel(bob, at=NINE, events=OTHERS)

    fail(key, approved())

    assert work(NINE + HOUR) == 0
    assert not Notification.objects.filter(event=ChannelEvent.FAILED).exists()


def test_a_failure_that_was_seen_or_ended_in_time_is_not_told(
    alice: User,
    bob: User,
    key: ApiKey,
    make_channel: MakeChannel,
    approved: Callable[..., Delivery],
) -> None:
    make_channel(bob, at=NINE, events=[ChannelEvent.FAILED])
    acknowledged, opened, tried_again = (approved() for _ in range(3))
    for delivery in (acknowledged, opened, tried_again):
        fail(key, delivery)
    acknowledge([acknowledged.pk], by=alice, at=NINE)
    mark_read(opened, by=bob, at=NINE)
    outcomes.report(key, tried_again.pk, status="done", at=NINE + MINUTE / 2)

    assert work(NINE + MINUTE) == 0
    settled = Notification.objects.values_list("outcome", flat=True)
    assert list(settled) == ["seen", "seen", "seen"]


def test_a_second_failure_is_told_again(
    bob: User, key: ApiKey, make_channel: MakeChannel, approved: Callable[..., Delivery]
) -> None:
    make_channel(bob, at=NINE, events=[ChannelEvent.FAILED])
    delivery = approved()
    fail(key, delivery)
    work(NINE + MINUTE)

    outcomes.report(key, delivery.pk, status="failed", at=NINE + HOUR)

    assert work(NINE + HOUR + MINUTE) == 1


def test_a_reader_is_told_and_others_than_the_assigned_are_not(
    bob: User,
    rita: User,
    team: Team,
    key: ApiKey,
    make_channel: MakeChannel,
    make_rule: MakeRule,
    approved: Callable[..., Delivery],
) -> None:
    make_channel(rita, at=NINE, events=[ChannelEvent.FAILED])
    fail(key, approved())
    assert work(NINE + MINUTE) == 1

    make_rule(people=[bob])
    fail(key, approved())

    assert work(NINE + HOUR) == 0


def test_test_deliveries_are_not_told(
    bob: User, in_test_mode: AgentClient, make_channel: MakeChannel, answer: Answer
) -> None:
    make_channel(bob, at=NINE, events=[ChannelEvent.FAILED])
    delivery = Delivery.objects.get(pk=in_test_mode.deliver())
    answer(delivery)

    fail(in_test_mode.key, delivery)

    assert not Notification.objects.exists()


def test_a_removed_member_is_not_told(
    bob: User, key: ApiKey, make_channel: MakeChannel, approved: Callable[..., Delivery]
) -> None:
    make_channel(bob, at=NINE, events=[ChannelEvent.FAILED])
    fail(key, approved())
    Membership.objects.filter(user=bob).delete()

    assert work(NINE + MINUTE) == 0
