"""Claims the due notifications of a channel as one message, outside quiet hours and below the
limit."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max, QuerySet
from django.urls import reverse

from database.sweeps import to_work_on
from inbox.models import Channel, ChannelEvent, Notification
from inbox.notifications.channels.digests import digest_text
from inbox.notifications.channels.message import MAX_LISTED, ChannelMessage, MessageItem
from inbox.notifications.channels.needed import Facts, outcome_of, settle
from inbox.notifications.channels.recording import A_MINUTE, AN_HOUR, CONTINUES
from inbox.preferences.preferences import preferences_of
from pages.characters.invisible import reveal_value
from pages.local_time import zone_of
from wake.models import Delivery

Outcome = Notification.Outcome

# The maximum of messages that one person gets in an hour, through all of their channels.
MAX_AN_HOUR = 6
MAX_READ = 500
# Longer than a mail server may take (EMAIL_TIMEOUT for each step).
LEASE = timedelta(minutes=5)
A_DAY = timedelta(days=1)
# If a delivery has several events, the message names the one with the lowest rank.
RANKS = {
    event: rank
    for rank, event in enumerate(
        (
            *(
                ChannelEvent.ASSIGNED,
                ChannelEvent.CLOSING,
                ChannelEvent.ASSUMED,
                ChannelEvent.ALERT,
                ChannelEvent.QUESTION,
            ),
            *(ChannelEvent.FAILED, ChannelEvent.MENTION, ChannelEvent.DIGEST),
        )
    )
}


@dataclass(frozen=True, slots=True)
class ClaimedMessage:
    """Holds a claimed message. The notifications of a message have the message's `message_id`."""

    channel: Channel
    message: ChannelMessage
    message_id: uuid.UUID


def due_notifications(at: datetime) -> QuerySet[Notification]:
    """Returns the due notifications of channels that do not wait after a failure."""
    return Notification.objects.due(at).exclude(channel__retry_at__gt=at)


def due_channels(at: datetime) -> list[uuid.UUID]:
    """Returns the channels with due notifications, most overdue first."""
    due = to_work_on(due_notifications(at))
    return list(dict.fromkeys(due.values_list("channel", flat=True)[:MAX_READ]))


@transaction.atomic
def claim(channel_id: uuid.UUID, *, at: datetime) -> ClaimedMessage | None:
    """Claims the channel's due notifications until LEASE ends. Returns None if no notification is
    due, if the channel has to wait, or if another worker holds a channel of the same person."""
    channel = _lock(channel_id)
    if channel is None or (channel.retry_at is not None and channel.retry_at > at):
        return None
    due = channel.notifications.filter(due_at__lte=at + A_MINUTE)
    if channel.verified_at is None or channel.suspended_at is not None:
        settle(due, Outcome.FAILED)
        return None
    wait_until = _wait_until(channel, at=at)
    if wait_until > at:
        channel.notifications.due(at).update(due_at=wait_until)
        return None
    rows = _still_needed(channel, list(due.order_by("pk")), at=at)
    return _claim(channel, rows, at=at) if rows else None


def _lock(channel_id: uuid.UUID) -> Channel | None:
    """Locks the channel, and all other channels of its person, so that the limit is exact."""
    found = Channel.objects.filter(pk=channel_id).values_list("user", flat=True).first()
    of_owner = {"user": found} if found else {"pk": channel_id}
    channels = Channel.objects.filter(**of_owner).order_by("pk")
    locked = channels.select_for_update(skip_locked=True, of=("self",), no_key=True)
    rows = list(locked.select_related("user__preferences", "added_by", "rule"))
    if len(rows) < channels.count():
        return None
    return next((channel for channel in rows if channel.pk == channel_id), None)


def _wait_until(channel: Channel, *, at: datetime) -> datetime:
    """Returns when the next message may be sent. Returns `at` if it may be sent now."""
    user, rule = channel.user, channel.rule
    quiet = preferences_of(user) if user is not None else rule
    most = MAX_AN_HOUR if user is not None else rule.most_an_hour
    may_send_at = quiet.after_quiet_hours(at, zone_for(channel)) or at + A_DAY
    sent = Notification.objects.filter(**_same_owner(channel), claimed_at__gt=at - AN_HOUR)
    messages = sent.values("message_id").annotate(at=Max("claimed_at")).order_by("-at")
    times = list(messages.values_list("at", "channel")[: most or 1])
    last = max((moment for moment, pk in times if pk == channel.pk), default=None)
    if last is not None:
        may_send_at = max(may_send_at, last + A_MINUTE)
    if len(times) == most:
        may_send_at = max(may_send_at, times[-1][0] + AN_HOUR)
    return may_send_at


def _same_owner(channel: Channel) -> dict[str, Any]:
    return {"channel": channel} if channel.user is None else {"channel__user": channel.user}


def _still_needed(
    channel: Channel, rows: Sequence[Notification], *, at: datetime
) -> list[tuple[Notification, Delivery | None]]:
    """Settles notifications that are no longer needed, and returns the others with their
    deliveries."""
    facts = Facts.about(channel, rows, at=at)
    outcomes = {row: outcome_of(row, facts) for row in rows}
    for outcome in (Outcome.SEEN, Outcome.GONE):
        settle([row for row in rows if outcomes[row] == outcome], outcome)
    waiting = [row for row in rows if outcomes[row] == Outcome.WAITING]
    return [(row, facts.deliveries.get(row.delivery_id)) for row in waiting]  # type: ignore[arg-type]  # a digest has none


def _claim(
    channel: Channel, rows: Sequence[tuple[Notification, Delivery | None]], *, at: datetime
) -> ClaimedMessage | None:
    message_id = uuid.uuid4()
    message = _message(channel, rows, message_id, at=at)
    if message is None:
        settle([row for row, _ in rows], Outcome.SEEN)
        return None
    ids = [row.pk for row, _ in rows]
    Notification.objects.filter(pk__in=ids).update(message_id=message_id, claimed_at=at)
    channel.retry_at = at + LEASE
    channel.save(update_fields=["retry_at"])
    return ClaimedMessage(channel, message, message_id)


def _message(
    channel: Channel,
    rows: Sequence[tuple[Notification, Delivery | None]],
    message_id: uuid.UUID,
    *,
    at: datetime,
) -> ChannelMessage | None:
    """Returns the message with these notifications, or None for an empty digest."""
    told: dict[Any, tuple[ChannelEvent, Delivery]] = {}
    for row, delivery in sorted(
        rows, key=lambda pair: (RANKS[ChannelEvent(pair[0].event)], pair[0].pk)
    ):
        if delivery is not None:
            key = row.pk if row.event == ChannelEvent.MENTION else delivery.pk
            told.setdefault(key, (_event(row, delivery, at=at), delivery))
    summary = ""
    if channel.user is not None and any(row.event == ChannelEvent.DIGEST for row, _ in rows):
        summary = digest_text(channel.user, at=at)
    if not (told or summary):
        return None
    items = [_item(event, delivery) for event, delivery in list(told.values())[:MAX_LISTED]]
    return ChannelMessage(
        id=str(message_id),
        at=at,
        zone=zone_for(channel),
        purpose=ChannelEvent.DIGEST if summary else items[0].event,
        url=items[0].url if len(told) == 1 and not summary else _url("inbox"),
        items=items,
        counts=Counter(event for event, _ in told.values()),
        count=len(told),
        summary=summary,
        names_zone=channel.user is None,
    )


def _event(row: Notification, delivery: Delivery, *, at: datetime) -> ChannelEvent:
    """Returns the event to show. A deadline that was close before quiet hours may have passed when
    they end."""
    carried_on = delivery.is_past_deadline(at) and delivery.on_timeout in CONTINUES
    return (
        ChannelEvent.ASSUMED
        if row.event == ChannelEvent.CLOSING and carried_on
        else ChannelEvent(row.event)
    )


def _item(event: ChannelEvent, delivery: Delivery) -> MessageItem:
    return MessageItem(
        event=event,
        headline=reveal_value(delivery.headline),
        agent=reveal_value(delivery.agent.agent_id),
        # A failure comes after the answer, so the deadline no longer matters.
        deadline=None if event == ChannelEvent.FAILED else delivery.expires_at,
        url=_url("delivery", delivery.pk),
        delivery_id=str(delivery.pk),
        content_hash=delivery.content_hash,
    )


def own_message(
    channel: Channel, purpose: ChannelEvent, *, at: datetime, code: str = ""
) -> ChannelMessage:
    """Returns a message about the channel itself: a test, or its code."""
    return ChannelMessage(
        id=str(uuid.uuid4()),
        at=at,
        zone=zone_for(channel),
        purpose=purpose,
        url=_url("settings-notifications"),
        code=code,
    )


def zone_for(channel: Channel) -> tzinfo:
    """Returns the time zone of the channel's person. A team's channel has the time zone of the
    person who added it."""
    person = channel.user or channel.added_by
    return UTC if person is None else zone_of(person)


def _url(name: str, *arguments: Any) -> str:
    return settings.WAKE_ORIGIN + reverse(name, args=arguments)
