"""Messages are few, survive failures, and come from one worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, time, timedelta
from threading import Barrier, Event
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction

from accounts.models import Team, User
from inbox.models import Channel, Notification, NotificationRule
from inbox.notifications.channels import recording, sending
from inbox.notifications.channels.batches import LEASE, MAX_AN_HOUR, claim, due_channels
from inbox.notifications.channels.kinds.webhook import new_secret
from inbox.notifications.channels.sending import BACK_OFF, SUSPENDED_AFTER
from tests.inbox.notifications.channels.conftest import MakeChannel, work
from tests.inbox.notifications.times import utc
from tests.types import MakeDelivery, Prefer
from tests.wake.callbacks.receiver import Receiver, answering
from tests.wake.callbacks.verifying import verify_standard

NINE = utc("2026-11-02 09:00")  # a Monday
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def row() -> Channel:
    return Channel.objects.get()


def test_a_person_gets_at_most_six_messages_an_hour_and_one_about_the_rest(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery, inbox_of_chat: Receiver
) -> None:
    make_channel(bob, at=NINE - HOUR)

    sent = []
    for minutes in range(90):
        at = NINE + minutes * MINUTE
        if minutes < 55 and minutes % 5 == 0:
            make_delivery(at=at)
        sent += [minutes] * work(at + SECOND)

    assert sent == [1, 6, 11, 16, 21, 26, 61]
    assert [each.json["count"] for each in inbox_of_chat.received] == [*[1] * 6, 5]
    assert MAX_AN_HOUR == 6


def test_the_limit_counts_all_channels_of_a_person(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery
) -> None:
    for _ in range(4):
        make_channel(bob, at=NINE - HOUR)

    sent = 0
    for minutes in range(0, 50, 10):
        make_delivery(at=NINE + minutes * MINUTE)
        sent += work(NINE + (minutes + 2) * MINUTE)

    assert sent == MAX_AN_HOUR


def test_quiet_hours_hold_messages_back(
    bob: User,
    prefer: Prefer,
    make_channel: MakeChannel,
    make_delivery: MakeDelivery,
    inbox_of_chat: Receiver,
) -> None:
    prefer(bob, quiet_from=time(20), quiet_until=time(12))
    make_channel(bob, at=NINE - HOUR)
    make_delivery(at=NINE, timeout_seconds=3600)
    make_delivery(at=NINE + HOUR)

    sent = [work(NINE + minutes * MINUTE) for minutes in (5, 60, 120, 179, 180)]

    assert sent == [0, 0, 0, 0, 1]
    content = inbox_of_chat.received[0].json
    assert content["count"] == 2
    assert content["deliveries"][0]["event"] == "assumed"


def test_a_teams_channel_has_quiet_hours_of_its_own(
    team: Team,
    alice: User,
    make_channel: MakeChannel,
    make_delivery: MakeDelivery,
    inbox_of_chat: Receiver,
) -> None:
    """A team channel's quiet hours are in the time zone of the person who added the channel. The
    clock of Berlin is an hour ahead of UTC."""
    User.objects.filter(pk=alice.pk).update(time_zone="Europe/Berlin")
    channel = make_channel(team, at=NINE - HOUR, added_by=alice)
    quiet = {"quiet_from": time(20), "quiet_until": time(12), "quiet_days": "0123456"}
    NotificationRule.objects.filter(pk=channel.pk).update(**quiet)
    make_delivery(at=NINE)
    make_delivery(at=NINE + HOUR)

    sent = [work(NINE + minutes * MINUTE) for minutes in (5, 60, 119, 120)]

    assert sent == [0, 0, 0, 1]
    assert inbox_of_chat.received[0].json["count"] == 2


def test_a_teams_channel_has_a_limit_of_its_own(
    team: Team, make_channel: MakeChannel, make_delivery: MakeDelivery, inbox_of_chat: Receiver
) -> None:
    limited = make_channel(team, at=NINE - HOUR, path="limited")
    make_channel(team, at=NINE - HOUR, path="other")
    NotificationRule.objects.filter(pk=limited.pk).update(most_an_hour=2)
    for minutes in range(0, 50, 10):
        make_delivery(at=NINE + minutes * MINUTE)
        work(NINE + (minutes + 2) * MINUTE)

    assert Counter(each.path for each in inbox_of_chat.received) == {"/limited": 2, "/other": 5}

    work(NINE + 2 * MINUTE + HOUR)
    assert inbox_of_chat.received[-1].json["count"] == 3


def test_a_failure_is_tried_again_less_and_less_often_with_what_is_new(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery, inbox_of_chat: Receiver
) -> None:
    make_channel(bob, at=NINE - HOUR)
    make_delivery(at=NINE)
    inbox_of_chat.then(*[answering(500)] * 3)

    at = NINE + MINUTE
    assert work(at) == 0
    assert row().error == "The server answered with HTTP 500."
    make_delivery(at=at)
    for wait in BACK_OFF[:3]:
        assert row().retry_at == at + wait
        assert work(at + wait - SECOND) == 0
        at += wait
        work(at)

    assert [each.json["count"] for each in inbox_of_chat.received] == [1, 2, 2, 2]
    assert (row().failures, row().failing_since, row().retry_at, row().error) == (0, None, None, "")
    assert set(Notification.objects.values_list("outcome", flat=True)) == {"sent"}


def test_a_channel_that_fails_for_a_day_is_suspended(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery, start_receiver: Any
) -> None:
    gone = start_receiver()
    gone.stop()
    make_channel(bob, at=NINE - HOUR, address=gone.url)
    make_delivery(at=NINE)

    for hours in range(30):
        work(NINE + MINUTE + hours * HOUR)

    suspended_at = row().suspended_at
    assert suspended_at is not None
    assert suspended_at - NINE >= SUSPENDED_AFTER
    assert row().error == "Not sent: could not connect: Connection refused."
    assert Notification.objects.get().outcome == "failed"
    make_delivery(at=NINE + 40 * HOUR)
    assert work(NINE + 41 * HOUR) == 0
    assert Notification.objects.count() == 1


@pytest.mark.parametrize("status", [404, 410])
def test_an_address_that_is_gone_is_suspended_at_once(
    status: int,
    bob: User,
    make_channel: MakeChannel,
    make_delivery: MakeDelivery,
    inbox_of_chat: Receiver,
) -> None:
    make_channel(bob, at=NINE - HOUR)
    make_delivery(at=NINE)
    inbox_of_chat.then(answering(status))

    work(NINE + MINUTE)

    assert row().suspended_at == NINE + MINUTE
    assert row().error == f"This address no longer exists (HTTP {status})."


def test_a_server_that_asks_for_time_gets_it(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery, inbox_of_chat: Receiver
) -> None:
    make_channel(bob, at=NINE - HOUR)
    make_delivery(at=NINE)
    inbox_of_chat.then(answering(429, Retry_After="1800"))

    assert work(NINE + MINUTE) == 0
    assert row().retry_at == NINE + 31 * MINUTE


def test_a_message_of_a_dead_worker_is_sent_after_its_lease(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery
) -> None:
    channel = make_channel(bob, at=NINE - HOUR)
    make_delivery(at=NINE)
    at = NINE + MINUTE
    recording.record_new(at=at)
    assert claim(channel.pk, at=at) is not None

    assert work(at + LEASE - SECOND) == 0
    assert work(at + LEASE) == 1


def test_a_channel_whose_kind_is_unknown_holds_no_other_one_back(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery
) -> None:
    make_channel(bob, at=NINE - HOUR, kind="pigeon")
    make_channel(bob, at=NINE - HOUR)
    make_delivery(at=NINE)

    assert work(NINE + MINUTE) == 1


def test_what_is_over_is_forgotten(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery
) -> None:
    make_channel(bob, at=NINE - HOUR)
    make_delivery(at=NINE)
    work(NINE + MINUTE)
    make_delivery(at=NINE + 30 * DAY)
    recording.record_new(at=NINE + 30 * DAY)
    of_a_removed_channel = Notification.objects.create(
        channel_id=uuid4(), event="alert", key="-", created_at=NINE, due_at=NINE
    )

    assert recording.forget_settled(at=NINE + 29 * DAY) == 1
    assert not Notification.objects.filter(pk=of_a_removed_channel.pk).exists()
    assert recording.forget_settled(at=NINE + 31 * DAY) == 1
    assert Notification.objects.get().outcome == ""


def test_a_message_is_signed_as_standard_webhooks_says(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery, inbox_of_chat: Receiver
) -> None:
    channel = make_channel(bob, at=NINE - HOUR)
    make_delivery(at=NINE)

    work(NINE + MINUTE)

    (request,) = inbox_of_chat.received
    for secret, fits in [(channel.secret, True), (new_secret(), False)]:
        at = NINE + MINUTE
        assert verify_standard(request.body, request.headers, secret=secret, at=at) is fits


@pytest.mark.django_db(transaction=True)
def test_two_workers_send_one_message(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery, inbox_of_chat: Receiver
) -> None:
    for _ in range(3):
        make_channel(bob, at=NINE - HOUR)
    for number in range(5):
        make_delivery(at=NINE + number * SECOND)
    at, barrier = NINE + 2 * MINUTE, Barrier(4)

    def sweep(_: int) -> int:
        barrier.wait()
        try:
            return work(at)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as workers:
        sent = sum(workers.map(sweep, range(4)))
    sent += work(at + SECOND)

    assert sent == 3
    assert [each.json["count"] for each in inbox_of_chat.received] == [5, 5, 5]


@pytest.mark.django_db(transaction=True)
def test_two_workers_do_not_pass_the_limit(
    bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery, inbox_of_chat: Receiver
) -> None:
    for _ in range(10):
        make_channel(bob, at=NINE - HOUR)
    make_delivery(at=NINE)
    recording.record_new(at=NINE)
    at, barrier = NINE + 2 * MINUTE, Barrier(4)

    def sweep(_: int) -> int:
        barrier.wait()
        try:
            return sending.send_due(clock=lambda: at)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as workers:
        list(workers.map(sweep, range(4)))
    sending.send_due(clock=lambda: at)

    assert len(inbox_of_chat.received) == MAX_AN_HOUR


@pytest.mark.django_db(transaction=True)
def test_a_channel_waits_while_a_worker_holds_another_one_of_its_person(
    alice: User, bob: User, make_channel: MakeChannel, make_delivery: MakeDelivery
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("On SQLite a transaction that writes is the only one.")
    held, other, of_alice = (make_channel(user, at=NINE - HOUR) for user in (bob, bob, alice))
    make_delivery(at=NINE)
    at, is_held, is_over = NINE + MINUTE, Event(), Event()
    recording.record_new(at=at)

    def hold() -> None:
        try:
            with transaction.atomic():
                Channel.objects.select_for_update().get(pk=held.pk)
                is_held.set()
                is_over.wait(10)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as workers:
        holding = workers.submit(hold)
        assert is_held.wait(10)
        claimed = [claim(channel.pk, at=at) for channel in (held, other, of_alice)]
        is_over.set()
        holding.result()

    assert [batch is not None for batch in claimed] == [False, False, True]
    assert claim(other.pk, at=at) is not None


def test_a_sweep_without_channels_makes_three_queries(
    bob: User,
    make_delivery: MakeDelivery,
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    make_delivery(at=NINE)

    with django_assert_num_queries(3):
        assert work(NINE + HOUR) == 0
    assert due_channels(datetime.max.replace(tzinfo=NINE.tzinfo)) == []
