"""A channel sends the chosen events, and leaves out all others."""

from __future__ import annotations

from datetime import time, timedelta
from uuid import uuid4

import pytest

from accounts.models import Agent, Team, User
from inbox.delivery.discussion.comments import write_comment
from inbox.models import ChannelEvent, Mention, Notification, Snooze
from inbox.notifications.channels import channels, sending
from inbox.reading.readings import mark_read
from tests.inbox.notifications.channels.conftest import MakeChannel, work
from tests.inbox.notifications.times import utc
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery, MakeRule, Prefer
from tests.wake.callbacks.receiver import Receiver
from wake.models import Delivery
from wake.undo import take_back

SECOND = timedelta(seconds=1)
NINE = utc("2026-11-02 09:00")  # a Monday
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def outcomes() -> list[str]:
    return sorted(Notification.objects.values_list("outcome", flat=True))


def test_nothing_is_told_without_a_channel(
    bob: User, make_delivery: MakeDelivery, inbox_of_chat: Receiver
) -> None:
    make_delivery(at=NINE)

    assert work(NINE + HOUR) == 0
    assert not Notification.objects.exists()


def test_a_delivery_is_told_after_a_minute_and_once(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery, inbox_of_chat: Receiver
) -> None:
    make_channel(bob, at=NINE - HOUR)
    delivery = make_delivery(
        at=NINE, headline="Ship 2.4?", summary="A secret.", details_json='"The details"'
    )

    sent = [work(NINE + seconds * timedelta(seconds=1)) for seconds in (1, 59, 60, 62, 180, 9_999)]

    assert sent == [0, 0, 1, 0, 0, 0]
    (request,) = inbox_of_chat.received
    assert request.json["title"] == "research-agent-01 needs an answer"
    assert request.json["deliveries"] == [
        {
            "event": "question",
            "delivery_id": str(delivery.pk),
            "agent_id": "research-agent-01",
            "headline": "Ship 2.4?",
            "deadline": None,
            "url": f"http://127.0.0.1:8000/deliveries/{delivery.pk}/",
        }
    ]
    assert b"secret" not in request.body
    assert b"details" not in request.body
    assert outcomes() == ["sent"]


def test_many_within_a_minute_become_one_message(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery, inbox_of_chat: Receiver
) -> None:
    make_channel(bob, at=NINE - HOUR)
    for number in range(7):
        make_delivery(at=NINE + number * timedelta(seconds=7), headline=f"Number {number}")

    sent = [work(NINE + seconds * timedelta(seconds=1)) for seconds in (50, 60, 110, 120, 300)]

    assert sent == [0, 1, 0, 0, 0]
    content = inbox_of_chat.received[0].json
    assert (content["title"], content["count"]) == ("7 deliveries wait", 7)
    assert content["url"] == "http://127.0.0.1:8000/"
    headlines = [each["headline"] for each in content["deliveries"]]
    assert headlines == [f"Number {number}" for number in range(5)]


def test_what_was_opened_answered_snoozed_or_replaced_in_time_is_not_told(
    bob: User,
    bobs: Person,
    make_channel: MakeChannel,
    make_delivery: MakeDelivery,
    answer: Answer,
    inbox_of_chat: Receiver,
) -> None:
    make_channel(bob, at=NINE - HOUR)
    opened, answered, snoozed, replaced, erased, held = (make_delivery(at=NINE) for _ in range(6))
    mark_read(opened, by=bob, at=NINE)
    work(NINE + 2 * SECOND)
    answer(answered, by=bob, at=NINE)
    answer(held, by=bob, at=NINE, held=True)
    Snooze.objects.create(user=bob, delivery=snoozed, until=NINE + HOUR)
    Delivery.objects.filter(pk=replaced.pk).update(superseded_at=NINE)
    Delivery.objects.filter(pk=erased.pk).update(erased_at=NINE)

    assert work(NINE + MINUTE) == 0
    assert outcomes() == ["gone", "gone", "seen", "seen", "seen", "seen"]
    assert not inbox_of_chat.received


def test_an_answer_that_was_taken_back_is_told(
    alice: User,
    bob: User,
    make_channel: MakeChannel,
    make_delivery: MakeDelivery,
    answer: Answer,
    inbox_of_chat: Receiver,
) -> None:
    make_channel(bob, at=NINE - HOUR)
    delivery = make_delivery(at=NINE)
    response = answer(delivery, by=alice, at=NINE, held=True)
    work(NINE + 2 * SECOND)
    take_back(delivery, by=alice, at=response.answered_at + SECOND)

    assert work(NINE + MINUTE) == 1


def test_people_who_left_or_were_deactivated_are_told_nothing(
    bob: User,
    rita: User,
    team: Team,
    make_channel: MakeChannel,
    make_delivery: MakeDelivery,
    inbox_of_chat: Receiver,
) -> None:
    make_channel(bob, at=NINE - HOUR)
    make_channel(rita, at=NINE - HOUR)
    make_delivery(at=NINE, type="alert")
    work(NINE + 2 * SECOND)
    team.memberships.filter(user=bob).delete()
    User.objects.filter(pk=rita.pk).update(is_active=False)

    assert work(NINE + MINUTE) == 0
    assert outcomes() == ["gone", "gone"]
    make_delivery(at=NINE + HOUR, type="alert")
    work(NINE + HOUR + MINUTE)
    assert Notification.objects.count() == 2


def test_channels_of_a_deactivated_person_are_off_until_a_test(
    bob: User,
    bobs: Person,
    make_channel: MakeChannel,
    make_delivery: MakeDelivery,
    inbox_of_chat: Receiver,
) -> None:
    channel = make_channel(bob, at=NINE - HOUR)
    make_delivery(at=NINE, type="alert")
    work(NINE + 2 * SECOND)
    User.objects.filter(pk=bob.pk).update(is_active=False)

    assert sending.suspend_deactivated(at=NINE + 3 * SECOND) == 1
    assert sending.suspend_deactivated(at=NINE + 4 * SECOND) == 0
    User.objects.filter(pk=bob.pk).update(is_active=True)
    make_delivery(at=NINE + HOUR, type="alert")
    work(NINE + HOUR + MINUTE)
    work(NINE + 48 * HOUR)

    assert inbox_of_chat.received == []
    assert outcomes() == ["gone"]
    page = text_of(bobs.get(f"/settings/notifications/{channel.pk}/"))
    assert "Suspended" in page
    assert "Your account was deactivated. Send a test" in page
    assert channels.send_test(channel, at=NINE + 49 * HOUR).arrived
    make_delivery(at=NINE + 50 * HOUR, type="alert")
    assert work(NINE + 50 * HOUR + MINUTE) == 1


def test_channels_of_others_are_not_suspended(bob: User, make_channel: MakeChannel) -> None:
    make_channel(bob, at=NINE)

    assert sending.suspend_deactivated(at=NINE + HOUR) == 0


def test_a_reader_is_told_of_alerts_but_not_asked(
    rita: User, make_channel: MakeChannel, make_delivery: MakeDelivery, inbox_of_chat: Receiver
) -> None:
    make_channel(rita, at=NINE - HOUR)
    make_delivery(at=NINE)
    make_delivery(at=NINE, type="alert", headline="Disk full")
    make_delivery(at=NINE, type="update")

    assert work(NINE + MINUTE + SECOND) == 1
    assert inbox_of_chat.received[0].json["title"] == "Alert from research-agent-01"


@pytest.mark.parametrize(
    ("events", "title"),
    [
        ([ChannelEvent.QUESTION], "research-agent-01 needs an answer"),
        ([ChannelEvent.CLOSING], "research-agent-01: the deadline is close"),
        ([ChannelEvent.ASSUMED], "research-agent-01 went ahead without an answer"),
    ],
)
def test_only_what_was_chosen_is_told_when_it_is_time(
    events: list[ChannelEvent],
    title: str,
    bob: User,
    make_channel: MakeChannel,
    make_delivery: MakeDelivery,
    inbox_of_chat: Receiver,
) -> None:
    make_channel(bob, at=NINE - HOUR, events=events)
    make_delivery(at=NINE, timeout_seconds=3 * 3600)

    told_at = [minutes for minutes in range(0, 260, 5) if work(NINE + minutes * MINUTE + SECOND)]

    expected = {ChannelEvent.QUESTION: 5, ChannelEvent.CLOSING: 135, ChannelEvent.ASSUMED: 185}
    assert told_at == [expected[events[0]]]
    assert inbox_of_chat.received[0].json["title"] == title


def test_two_deliveries_of_one_agent_are_not_two_agents(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery, inbox_of_chat: Receiver
) -> None:
    make_channel(bob, at=NINE - HOUR, events=[ChannelEvent.ASSUMED])
    for _ in range(2):
        make_delivery(at=NINE, timeout_seconds=3600)

    assert work(NINE + 2 * HOUR) == 1
    title = inbox_of_chat.received[0].json["title"]
    assert title == "2 missed deadlines: the agents went ahead"


@pytest.mark.parametrize("on_timeout", ["hold", "abort"])
def test_agents_that_do_not_carry_on_are_not_said_to(
    on_timeout: str, bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery
) -> None:
    make_channel(bob, at=NINE - HOUR, events=[ChannelEvent.ASSUMED])
    make_delivery(at=NINE, timeout_seconds=3600, on_timeout=on_timeout)

    assert work(NINE + 2 * HOUR) == 0


def test_an_answered_deadline_is_not_told(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery, answer: Answer
) -> None:
    make_channel(bob, at=NINE - HOUR, events=[ChannelEvent.CLOSING, ChannelEvent.ASSUMED])
    delivery = make_delivery(at=NINE, timeout_seconds=3 * 3600)
    work(NINE + MINUTE)
    answer(delivery, at=NINE + HOUR)

    assert [work(NINE + hours * HOUR) for hours in (2, 3, 4)] == [0, 0, 0]
    assert outcomes() == ["seen", "seen"]


def test_only_the_chosen_agents_are_told_of(
    bob: User, agent: Agent, make_channel: MakeChannel, make_delivery: MakeDelivery
) -> None:
    make_channel(bob, at=NINE - HOUR, agents=["00000000-0000-0000-0000-000000000000"])
    make_channel(bob, at=NINE - HOUR, agents=[str(agent.pk)])
    make_delivery(at=NINE)

    assert work(NINE + MINUTE) == 1
    assert outcomes() == ["sent"]


def test_a_channel_of_the_team_is_told_what_is_of_the_team(
    team: Team,
    bob: User,
    elsewhere: Delivery,
    make_channel: MakeChannel,
    make_rule: MakeRule,
    make_delivery: MakeDelivery,
    inbox_of_chat: Receiver,
) -> None:
    make_channel(team, at=NINE - HOUR)
    make_rule(people=[bob], at=NINE - 3 * HOUR)
    mark_read(make_delivery(at=NINE), by=bob, at=NINE)

    assert work(NINE + MINUTE) == 1
    assert inbox_of_chat.received[0].json["count"] == 1


def test_what_was_delivered_before_is_not_told(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE)
    make_channel(bob, at=NINE + MINUTE)

    assert work(NINE + HOUR) == 0


def test_a_channel_that_was_added_before_the_sweep_is_told_what_comes_later(
    alice: User,
    bob: User,
    make_channel: MakeChannel,
    make_delivery: MakeDelivery,
    inbox_of_chat: Receiver,
) -> None:
    make_channel(bob, at=NINE - HOUR, path="bob")
    make_delivery(at=NINE)
    make_channel(alice, at=NINE + SECOND, path="alice")

    work(NINE + MINUTE)

    assert [request.path for request in inbox_of_chat.received] == ["/bob"]


def test_test_deliveries_are_not_told(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery
) -> None:
    make_channel(bob, at=NINE - HOUR)
    Delivery.objects.filter(pk=make_delivery(at=NINE).pk).update(mode="test")

    assert work(NINE + HOUR) == 0


def test_a_mention_is_told_unless_it_was_seen(
    alice: User,
    bob: User,
    make_channel: MakeChannel,
    make_delivery: MakeDelivery,
    inbox_of_chat: Receiver,
) -> None:
    make_channel(bob, at=NINE - HOUR, events=[ChannelEvent.MENTION])
    delivery = make_delivery(at=NINE)
    for number in range(2):
        write_comment(delivery, f"@{bob.display_name} {number}", pk=uuid4(), by=alice, at=NINE)
    Mention.objects.filter(comment__text__contains="0").update(seen_at=NINE)

    assert work(NINE + MINUTE) == 1
    content = inbox_of_chat.received[0].json
    assert (content["title"], content["count"]) == ("A comment mentions you", 1)
    assert outcomes() == ["seen", "sent"]


def test_the_digest_is_told_at_its_time(
    bob: User,
    prefer: Prefer,
    make_channel: MakeChannel,
    make_delivery: MakeDelivery,
    inbox_of_chat: Receiver,
) -> None:
    prefer(bob, digest="never", digest_at=time(9))
    make_channel(bob, at=NINE - HOUR, events=[ChannelEvent.DIGEST])
    make_delivery(at=NINE - 2 * HOUR)

    sent = [work(NINE + hours * HOUR) for hours in (-1, 0, 1, 23, 24)]

    assert sent == [0, 1, 0, 0, 1]
    assert inbox_of_chat.received[0].json["title"] == "1 delivery needs you"
