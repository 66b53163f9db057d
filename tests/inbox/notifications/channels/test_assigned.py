"""Only the people to whom a delivery is assigned are notified about the delivery."""

from __future__ import annotations

from datetime import timedelta

from accounts.models import User
from tests.inbox.notifications.channels.conftest import MakeChannel, work
from tests.inbox.notifications.times import utc
from tests.types import MakeDelivery, MakeRule
from tests.wake.callbacks.receiver import Receiver
from wake import signals
from wake.models import AssignedPerson, Assignment

NINE = utc("2026-11-02 09:00")
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def test_what_is_assigned_to_others_is_told_to_them_alone(
    alice: User,
    bob: User,
    make_channel: MakeChannel,
    make_rule: MakeRule,
    make_delivery: MakeDelivery,
    inbox_of_chat: Receiver,
) -> None:
    make_channel(alice, at=NINE - HOUR, path="alice")
    make_channel(bob, at=NINE - HOUR, path="bob")
    make_rule(people=[bob], at=NINE - HOUR)
    make_delivery(at=NINE)

    assert work(NINE + MINUTE) == 1
    (request,) = inbox_of_chat.received
    assert request.path == "/bob"
    assert request.json["title"] == "research-agent-01: assigned to you"
    assert request.json["count"] == 1


def test_people_who_are_added_later_are_told(
    alice: User,
    bob: User,
    make_channel: MakeChannel,
    make_rule: MakeRule,
    make_delivery: MakeDelivery,
    inbox_of_chat: Receiver,
) -> None:
    make_channel(bob, at=NINE - HOUR)
    make_rule(people=[alice], at=NINE - 2 * HOUR)
    delivery = make_delivery(at=NINE, timeout_seconds=3 * 3600)
    assert work(NINE + 10 * MINUTE) == 0

    later = NINE + 20 * MINUTE
    assignment = Assignment.objects.get(deliveries=delivery)
    AssignedPerson.objects.create(assignment=assignment, user=bob, name="Bob")
    for _ in range(2):
        signals.assigned.send(None, delivery=delivery, user_ids=[bob.pk], at=later)

    assert [work(later), work(later + MINUTE), work(later + 2 * MINUTE)] == [0, 1, 0]
    assert inbox_of_chat.received[0].json["title"] == "research-agent-01: assigned to you"


def test_only_what_is_assigned_leaves_the_rest_out(
    bob: User,
    make_channel: MakeChannel,
    make_rule: MakeRule,
    make_delivery: MakeDelivery,
) -> None:
    make_channel(bob, at=NINE - HOUR, only_assigned=True)
    make_delivery(at=NINE)

    assert work(NINE + MINUTE) == 0
