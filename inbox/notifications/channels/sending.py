"""Sends due messages, many at the same time, and settles them.

Nothing is locked while a message is sent. If the worker dies meanwhile, its rows are due again when
the lease of their channel ends. So a message may arrive twice, but never gets lost.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction

from database import sweeps
from database.clock import database_now
from inbox.models import Channel, Notification
from inbox.notifications.channels.batches import ClaimedMessage, claim, due_channels
from inbox.notifications.channels.kinds.kind import SendResult
from inbox.notifications.channels.needed import settle
from inbox.notifications.channels.transport import OpenClient, exchange, open_client, read
from wake.callbacks.http_client import HttpResult

AT_ONCE = 20
DRAIN_SECONDS = 30.0
BACK_OFF = [timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180)]
SUSPENDED_AFTER = timedelta(days=1)
LONGEST_ERROR = 200
GONE = Notification.Outcome.GONE


def send_due(
    *, clock: Callable[[], datetime] = database_now, client: OpenClient = open_client
) -> int:
    """Sends due messages, and starts no more after half a minute; returns how many arrived."""
    return sweeps.each(
        _claimed(due_channels(clock()), clock),
        partial(_send_together, clock=clock, client=client),
        what="notifications",
        seconds=DRAIN_SECONDS,
    )


def _claimed(
    channels: Sequence[uuid.UUID], clock: Callable[[], datetime]
) -> Iterator[Sequence[ClaimedMessage]]:
    """Claims the channels for one round of sending, when the sweep needs them."""
    for start in range(0, len(channels), AT_ONCE):
        batches: list[ClaimedMessage] = []
        work = partial(_claim_into, batches, clock=clock)
        sweeps.each(channels[start : start + AT_ONCE], work, what="channels")
        yield batches


def _claim_into(
    batches: list[ClaimedMessage], channel_id: uuid.UUID, *, clock: Callable[[], datetime]
) -> int:
    batch = claim(channel_id, at=clock())
    if batch is not None:
        batches.append(batch)
    return batch is not None


def _send_together(
    batches: Sequence[ClaimedMessage], *, clock: Callable[[], datetime], client: OpenClient
) -> int:
    outcomes = exchange([(batch.channel, batch.message) for batch in batches], client=client)
    pairs = list(zip(batches, outcomes, strict=True))
    work = partial(_settle, at=clock())
    return sweeps.each(pairs, work, what="messages")


@transaction.atomic
def _settle(sent: tuple[ClaimedMessage, HttpResult], *, at: datetime) -> bool:
    """Stores the results of sending, unless the lease ended and another worker has claimed the rows
    since."""
    batch, outcome = sent
    channel = Channel.objects.select_for_update(no_key=True).filter(pk=batch.channel.pk).first()
    rows = Notification.objects.filter(message_id=batch.message_id, outcome="")
    if channel is None or not rows.exists():
        return False
    result = read(channel, outcome)
    if result.arrived:
        settle(rows, Notification.Outcome.SENT)
    record_result(channel, result, at=at)
    return result.arrived


def record_result(channel: Channel, result: SendResult, *, at: datetime) -> None:
    """Stores the result of an attempt in the channel's row. After each failure, the channel waits
    longer. After a day of failures, or if the address is gone, the channel is suspended."""
    channel.error = result.problem[:LONGEST_ERROR]
    if result.arrived:
        channel.failures, channel.failing_since, channel.retry_at = 0, None, None
    else:
        wait = BACK_OFF[min(channel.failures, len(BACK_OFF) - 1)]
        channel.retry_at = at + max(wait, timedelta(seconds=result.retry_after))
        channel.failures = min(channel.failures + 1, len(BACK_OFF))
        channel.failing_since = channel.failing_since or at
        if result.is_gone or at - channel.failing_since >= SUSPENDED_AFTER:
            _suspend(channel, at=at)
    names = ["error", "failures", "failing_since", "retry_at", "suspended_at"]
    channel.save(update_fields=names)


def _suspend(channel: Channel, *, at: datetime) -> None:
    """Gives up the waiting notifications. The deliveries stay in the inbox, and the settings pages
    show the failure."""
    channel.suspended_at = at
    settle(channel.notifications.filter(due_at__isnull=False), Notification.Outcome.FAILED)


@transaction.atomic
def suspend_deactivated(*, at: datetime) -> int:
    """Suspends the channels of people who were deactivated since, and returns how many. If a person
    is activated again, each of the person's channels stays suspended until the person sends a
    test."""
    people = Channel.objects.working().filter(user__is_active=False).order_by("pk")
    ids = list(people.select_for_update(of=("self",), no_key=True).values_list("pk", flat=True))
    if not ids:
        return 0
    settle(Notification.objects.filter(channel__in=ids, due_at__isnull=False), GONE)
    return Channel.objects.filter(pk__in=ids).update(
        suspended_at=at, failing_since=at, error="Your account was deactivated."
    )
