"""A week of traffic, driven by the clock: few messages, none at night, none twice, none lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from random import Random
from uuid import uuid4

import pytest
from django.db.models import Min
from django.db.models.functions import Coalesce, Greatest

from accounts.models import Team, User
from inbox.delivery.discussion.comments import write_comment
from inbox.models import Channel, ChannelEvent, Notification, NotificationRule, Reading
from inbox.notifications.channels.batches import MAX_AN_HOUR
from inbox.reading.readings import mark_read
from tests.inbox.notifications.channels.conftest import MakeChannel, work
from tests.inbox.notifications.times import utc
from tests.types import Answer, MakeDelivery, MakeRule, Prefer
from tests.wake.callbacks.receiver import Received, Receiver, answering
from wake.models import Delivery

MONDAY = utc("2026-11-02 00:00")
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
WEEK = timedelta(days=7)
EVENING, MORNING = time(20), time(8)
FAILS = 0.05
KINDS = ["question", "question", "output", "output", "alert", "update"]
WINDOWS = [None, None, 600, 3_600, 6 * 3_600, 24 * 3_600]
DONE = {"sent", "seen", "gone"}

pytestmark = pytest.mark.system


def traffic(dice: Random) -> list[datetime]:
    """Returns the times of deliveries: single ones by day and by night, and bursts."""
    times = [MONDAY + dice.random() * WEEK for _ in range(100)]
    for _ in range(5):
        begins = MONDAY + dice.random() * WEEK
        times += [begins + dice.random() * 10 * MINUTE for _ in range(16)]
    return sorted(times)


def due_times() -> Iterator[datetime]:
    """Yields the times at which the jobs have work next. A message that fails waits for its
    retry."""
    retry_at = Coalesce("channel__retry_at", "due_at")
    waiting = Notification.objects.filter(due_at__isnull=False)
    yield from filter(None, waiting.aggregate(at=Min(Greatest("due_at", retry_at))).values())
    digests = NotificationRule.objects.aggregate(at=Min("next_digest_at"))
    yield from filter(None, digests.values())


def run_until(end: datetime, *, at: datetime) -> datetime:
    """Does the work of the jobs whenever something is due."""
    while (soonest := max(min(due_times(), default=end), at + SECOND)) < end:
        at = soonest
        work(at)
    work(end)
    return end


def sent_at(request: Received) -> datetime:
    return datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), tz=UTC)


def test_a_week_of_traffic(
    alice: User,
    bob: User,
    team: Team,
    prefer: Prefer,
    make_channel: MakeChannel,
    make_rule: MakeRule,
    make_delivery: MakeDelivery,
    answer: Answer,
    inbox_of_chat: Receiver,
) -> None:
    dice = Random(20261102)  # noqa: S311 - the same week each time
    quiet = {"quiet_from": EVENING, "quiet_until": MORNING, "digest": "daily"}
    own: dict[str, User] = {"/alice": alice, "/alice-phone": alice, "/bob": bob}
    for person in (alice, bob):
        prefer(person, **quiet)
    make_rule(people=[bob], types=["output"], at=MONDAY)
    for path, person in own.items():
        events = [
            event for event in ChannelEvent if event not in {ChannelEvent.CODE, ChannelEvent.TEST}
        ]
        make_channel(person, at=MONDAY, path=path[1:], events=events)
    make_channel(team, at=MONDAY, path="team")

    at = MONDAY
    for number, moment in enumerate(traffic(dice)):
        at = run_until(moment, at=at)
        seconds = dice.choice(WINDOWS)
        given = {"type": dice.choice(KINDS), "timeout_seconds": seconds}
        delivery = make_delivery(at=at, headline=f"Number {number}", **given)
        waiting = list(Delivery.objects.awaiting_response().order_by("?")[:1])
        match dice.randrange(8):
            case 0:
                mark_read(delivery, by=alice, at=at)
            case 1 | 2 if waiting[0].type != "update":
                answer(waiting[0], by=dice.choice([alice, bob]), at=at, held=True)
            case 3:
                text = f"@{bob.display_name} look"
                write_comment(delivery, text, pk=uuid4(), by=alice, at=at)
            case 4:
                Delivery.objects.filter(pk=waiting[0].pk).update(erased_at=at)
        if dice.random() < FAILS:
            inbox_of_chat.then(answering(503))
    run_until(MONDAY + WEEK + 36 * HOUR, at=at)

    failed = Notification.objects.exclude(outcome__in=DONE)
    assert not failed.exists()
    sent = {
        str(row.message_id): row.channel.address.rpartition("/")[2]
        for row in Notification.objects.filter(outcome="sent").select_related("channel")
    }
    ids = [request.headers["webhook-id"].removeprefix("msg_") for request in inbox_of_chat.received]
    arrived = [
        request
        for request, message in zip(inbox_of_chat.received, ids, strict=True)
        if message in sent
    ]
    assert max(Counter(ids).values()) == 1
    assert sorted(sent) == sorted(message for message in ids if message in sent)
    assert len(ids) > len(arrived) > 50

    for person in (alice, bob):
        times = [sent_at(each) for each in arrived if own.get(each.path) == person]
        for first in times:
            assert sum(first <= other < first + HOUR for other in times) <= MAX_AN_HOUR
            assert MORNING <= first.time() < EVENING

    told = Counter(
        (request.path, each["event"], each["delivery_id"])
        for request in arrived
        for each in request.json["deliveries"]
        if each["event"] != "mention"
    )
    assert max(told.values()) == 1
    assert sum(request.json["count"] for request in arrived) > len(told)

    arrivals = Notification.objects.filter(event__in=[ChannelEvent.QUESTION, ChannelEvent.ALERT])
    everything = Delivery.objects.exclude(type="update")
    for channel in Channel.objects.all():
        of_others = {"type": "output"} if channel.user_id == alice.pk else {}
        wanted = everything.exclude(**of_others) if of_others else everything.all()
        noted = arrivals.filter(channel=channel)
        assert set(noted.values_list("delivery", flat=True)) == set(
            wanted.values_list("pk", flat=True)
        )
        opened = Reading.objects.filter(user=channel.user).values("delivery")
        seen = Delivery.objects.filter(pk__in=noted.filter(outcome="seen").values("delivery"))
        assert not seen.filter(answered_at__isnull=True).exclude(pk__in=opened).exists()
        gone = Delivery.objects.filter(pk__in=noted.filter(outcome="gone").values("delivery"))
        assert not gone.filter(erased_at__isnull=True).exists()
