"""Creates notifications for new deliveries: a row for each channel and event.

Delivering writes nothing. A sweep reads each agent's deliveries after the commit, in the order of
their stamps, so the sweep misses none (docs/decisions/0051-notifications-read-the-cursor.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import Agent, ApiKey
from database import sweeps
from database.follower import ReadPlan, behind, follow
from inbox.models import Channel, ChannelEvent, Mention, NotedUntil, Notification, NotificationRule
from inbox.notifications.channels.audience import Listener, listeners_of
from inbox.notifications.channels.digests import next_digest_of
from wake.assignment.assigned import assigned_to
from wake.models import Delivery, Failure

DIGESTS_AT_ONCE = 100
# The time before a message is sent. Several events become one message, and deliveries that are
# opened meanwhile are left out.
A_MINUTE = timedelta(minutes=1)
# A deadline is close in its last hour. A short deadline is close in the last quarter of its time.
AN_HOUR = timedelta(hours=1)
CONTINUES = ("", Delivery.OnTimeout.PROCEED)
KEPT = timedelta(days=30)
FORGET_AT_ONCE = 1_000
COLUMNS = ("team", "agent", "type", "status", "expires_at", "on_timeout", "created_at")


def record_new(*, at: datetime) -> int:
    """Creates notifications for new deliveries in teams with channels, and for due digests; returns
    how many rows it read. If there are no channels, makes two queries that find nothing."""
    read = follow(
        _agents_with_listeners(),
        NotedUntil,
        partial(_recording, at=at),
        what="notifications of deliveries",
        at=at,
    )
    work = partial(_record_digest, at=at)
    due = due_digests(at)
    return read + sweeps.sweep(due, work, what="digests of channels", at_once=DIGESTS_AT_ONCE)


def agents_to_read(at: datetime) -> QuerySet[Agent]:
    """Returns the agents with new rows and with channels that want to hear of them."""
    return behind(_agents_with_listeners(), NotedUntil, at=at)


def due_digests(at: datetime) -> QuerySet[NotificationRule]:
    return NotificationRule.objects.filter(next_digest_at__lte=at).order_by("next_digest_at")


def _agents_with_listeners() -> QuerySet[Agent]:
    rules = NotificationRule.objects.filter(channel__in=Channel.objects.working())
    of_team = rules.filter(channel__team=OuterRef("team"))
    of_member = rules.filter(
        channel__user__memberships__team=OuterRef("team"), channel__user__is_active=True
    )
    agents = Agent.objects.filter(Exists(of_team) | Exists(of_member))
    return agents.only("team", "activity_us")


def _recording(agent: Agent, place: NotedUntil, *, at: datetime) -> ReadPlan[Delivery] | None:
    listeners = listeners_of(agent.team_id)
    if not listeners:
        return None
    deliveries = Delivery.objects.of_agent(agent, ApiKey.Mode.LIVE).only("activity_at", *COLUMNS)
    since = min(each.rule.since for each in listeners)
    return ReadPlan([deliveries], partial(_write, listeners=listeners, at=at), since=since)


def record_assigned(delivery: Delivery, *, user_ids: Collection[int], at: datetime) -> None:
    """Creates notifications for people who were assigned to a delivery later, in the transaction of
    the assignment."""
    if delivery.mode == ApiKey.Mode.LIVE:
        listeners = listeners_of(delivery.team_id, user_ids=user_ids)
        _write([delivery], listeners, at=at, is_later=True)


def record_mentions(mentions: Sequence[Mention], *, delivery: Delivery, at: datetime) -> None:
    """Creates notifications for the mentions of a comment, in its transaction."""
    if not mentions:
        return
    people = [mention.user_id for mention in mentions]
    listeners = {
        each.channel.pk: each
        for each in listeners_of(delivery.team_id, user_ids=people)
        if each.wants(ChannelEvent.MENTION, delivery)
    }
    _store(
        Notification(
            channel=each.channel,
            event=ChannelEvent.MENTION,
            delivery=delivery,
            key=str(mention.pk),
            created_at=at,
            due_at=at + A_MINUTE,
        )
        for each in listeners.values()
        for mention in mentions
        if mention.user_id == each.channel.user_id
    )


def record_failure(delivery: Delivery, failure: Failure, *, at: datetime) -> None:
    """Creates notifications for an action that failed after approval, in the transaction of the
    agent's report. Each reported failure is one event."""
    if delivery.mode != ApiKey.Mode.LIVE:
        return
    event = ChannelEvent.FAILED
    listeners = [each for each in listeners_of(delivery.team_id) if event in each.rule.events]
    assigned = assigned_to([delivery.pk]).get(delivery.pk) if listeners else None
    _store(
        Notification(
            channel=listener.channel,
            event=event,
            delivery=delivery,
            key=str(failure.outcome_id),
            created_at=at,
            due_at=at + A_MINUTE,
        )
        for listener in listeners
        if listener.wants(event, delivery, assigned)
    )


def _write(
    rows: Sequence[Delivery], listeners: Sequence[Listener], *, at: datetime, is_later: bool = False
) -> None:
    open_rows = [row for row in rows if _may_wait(row, at=at)]
    if not (open_rows and listeners):
        return
    assigned = assigned_to([row.pk for row in open_rows])
    _store(
        Notification(
            channel=listener.channel,
            event=event,
            delivery=row,
            key=str(row.pk),
            created_at=at if is_later else row.created_at,
            due_at=max(due_at, at + A_MINUTE) if is_later else due_at,
        )
        for row in open_rows
        for event, due_at in _events(row)
        for listener in listeners
        if (is_later or row.created_at >= listener.rule.since)
        and listener.wants(event, row, assigned.get(row.pk))
    )


def _may_wait(row: Delivery, *, at: datetime) -> bool:
    """Returns whether the delivery waits, or was answered so recently that the answer may be taken
    back."""
    return row.status == Delivery.Status.PENDING or at - row.created_at < AN_HOUR


def _events(row: Delivery) -> Iterator[tuple[ChannelEvent, datetime]]:
    """Yields the events of a delivery, each with its due time."""
    soon = row.created_at + A_MINUTE
    if row.type == Delivery.Type.UPDATE:
        return
    yield (ChannelEvent.ALERT if row.type == Delivery.Type.ALERT else ChannelEvent.QUESTION), soon
    yield ChannelEvent.ASSIGNED, soon
    if row.expires_at is not None:
        window = row.expires_at - row.created_at
        yield ChannelEvent.CLOSING, row.expires_at - min(AN_HOUR, window / 4)
        if row.on_timeout in CONTINUES:
            yield ChannelEvent.ASSUMED, row.expires_at + A_MINUTE


def _store(rows: Iterable[Notification]) -> None:
    """Writes only new rows. An answer moves a delivery's stamp, so a delivery can be read twice."""
    Notification.objects.bulk_create(rows, ignore_conflicts=True)


def _record_digest(rule: NotificationRule, *, at: datetime) -> int:
    due_at: Any = rule.next_digest_at
    rule.next_digest_at = next_digest_of(rule, after=at)
    rule.save(update_fields=["next_digest_at"])
    digest = {
        "event": ChannelEvent.DIGEST,
        "key": due_at.isoformat(),
        "created_at": at,
        "due_at": at,
    }
    _store([Notification(channel_id=rule.channel_id, **digest)])
    return 1


def forget_settled(*, at: datetime) -> int:
    """Deletes rows that were settled long ago, and rows that were written while their channel was
    removed. Indexes: settled_notifications, notifications_due."""
    old = Notification.objects.filter(due_at__isnull=True, created_at__lt=at - KEPT)
    settled = sweeps.to_work_on(old)
    lost = Notification.objects.filter(
        ~Exists(Channel.objects.filter(pk=OuterRef("channel"))), due_at__lt=at
    )
    ids = [
        *settled.order_by("created_at").values_list("pk", flat=True)[:FORGET_AT_ONCE],
        *lost.order_by("due_at").values_list("pk", flat=True)[:FORGET_AT_ONCE],
    ]
    return Notification.objects.filter(pk__in=ids).delete()[0]
