"""Notes what is to be told: reads new deliveries, and writes a row for each channel and event.

Delivering writes nothing. A sweep reads each agent's deliveries after the commit, in the order of
their stamps, so it misses none (docs/decisions/0051-notifications-read-the-cursor.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef
from django.db.models.functions import Coalesce

from accounts.models import Agent, ApiKey
from database import sweeps
from database.clock import EPOCH, microseconds
from inbox.models import Channel, Event, Mention, NotedUntil, Notification, NotificationRule
from inbox.notifications.channels.audience import Listener, listeners_of
from inbox.notifications.channels.digests import next_digest_of
from wake.assignment.assigned import assigned_to
from wake.models import Delivery

AGENTS_AT_ONCE = 100
ROWS_AT_ONCE = 200
DIGESTS_AT_ONCE = 100
# Before a message is sent, so that many become one, and what is opened meanwhile is not told.
A_MINUTE = timedelta(minutes=1)
# A deadline is close in its last hour, or in the last quarter of a short one.
AN_HOUR = timedelta(hours=1)
CONTINUES = ("", Delivery.OnTimeout.PROCEED)
KEPT = timedelta(days=30)
FORGET_AT_ONCE = 1_000
COLUMNS = ("team", "agent", "type", "status", "expires_at", "on_timeout", "created_at")


def note_new(*, at: datetime) -> int:
    """Notes what agents delivered in teams with channels, and the digests that are due; returns how
    many rows it read. Without channels it makes two queries that find nothing."""
    read = sweeps.each(_agents_behind(), partial(_read_on, at=at), what="agents' notifications")
    due = NotificationRule.objects.filter(next_digest_at__lte=at).order_by("next_digest_at")
    work = partial(_note_digest, at=at)
    return read + sweeps.sweep(due, work, what="digests of channels", at_once=DIGESTS_AT_ONCE)


def _agents_behind() -> list[UUID]:
    rules = NotificationRule.objects.filter(channel__in=Channel.objects.working())
    of_team = rules.filter(channel__team=OuterRef("team"))
    of_member = rules.filter(
        channel__user__memberships__team=OuterRef("team"), channel__user__is_active=True
    )
    agents = Agent.objects.alias(until=Coalesce("noted_until__activity_us", 0))
    behind = agents.filter(Exists(of_team) | Exists(of_member), activity_us__gt=F("until"))
    return list(behind.order_by("activity_us").values_list("pk", flat=True)[:AGENTS_AT_ONCE])


@transaction.atomic
def _read_on(agent_id: UUID, *, at: datetime) -> int:
    NotedUntil.objects.get_or_create(agent_id=agent_id)
    noted = NotedUntil.objects.select_for_update(skip_locked=True).filter(agent=agent_id).first()
    if noted is None:
        return 0
    # Read after the lock and before the rows: every row up to this stamp is committed.
    agent = Agent.objects.only("team", "activity_us").get(pk=agent_id)
    listeners = listeners_of(agent.team_id)
    started_at = min((each.rule.since for each in listeners), default=None)
    done_us = agent.activity_us
    rows: list[Delivery] = []
    if started_at is not None:
        since = max(EPOCH + timedelta(microseconds=noted.activity_us), started_at)
        deliveries = Delivery.objects.of_agent(agent_id, ApiKey.Mode.LIVE).after(since)
        deliveries = deliveries.filter(activity_at__lte=EPOCH + timedelta(microseconds=done_us))
        rows = list(deliveries.only("activity_at", *COLUMNS)[:ROWS_AT_ONCE])
        if len(rows) == ROWS_AT_ONCE:
            done_us = microseconds(rows[-1].activity_at)
        _write(rows, listeners, at=at)
    NotedUntil.objects.filter(pk=agent_id).update(activity_us=done_us)
    return len(rows)


def note_assigned(delivery: Delivery, *, user_ids: Collection[int], at: datetime) -> None:
    """Notes that people were assigned to a delivery after it was delivered, in the transaction of
    the assignment."""
    if delivery.mode == ApiKey.Mode.LIVE:
        listeners = listeners_of(delivery.team_id, user_ids=user_ids)
        _write([delivery], listeners, at=at, is_later=True)


def note_mentions(mentions: Sequence[Mention], *, delivery: Delivery, at: datetime) -> None:
    """Notes the mentions of a comment, in its transaction."""
    if not mentions:
        return
    people = [mention.user_id for mention in mentions]
    listeners = {
        each.channel.pk: each
        for each in listeners_of(delivery.team_id, user_ids=people)
        if each.wants(Event.MENTION, delivery)
    }
    _store(
        Notification(
            channel=each.channel,
            event=Event.MENTION,
            delivery=delivery,
            key=str(mention.pk),
            created_at=at,
            due_at=at + A_MINUTE,
        )
        for each in listeners.values()
        for mention in mentions
        if mention.user_id == each.channel.user_id
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
    """Returns whether it waits, or was answered so soon that the answer may be taken back."""
    return row.status == Delivery.Status.PENDING or at - row.created_at < AN_HOUR


def _events(row: Delivery) -> Iterator[tuple[Event, datetime]]:
    """Yields what there is to tell about a delivery, and when."""
    soon = row.created_at + A_MINUTE
    if row.type == Delivery.Type.UPDATE:
        return
    yield (Event.ALERT if row.type == Delivery.Type.ALERT else Event.QUESTION), soon
    yield Event.ASSIGNED, soon
    if row.expires_at is not None:
        window = row.expires_at - row.created_at
        yield Event.CLOSING, row.expires_at - min(AN_HOUR, window / 4)
        if row.on_timeout in CONTINUES:
            yield Event.ASSUMED, row.expires_at + A_MINUTE


def _store(rows: Iterable[Notification]) -> None:
    """Writes rows that are not there yet: an answer moves a delivery's stamp, so that it is read
    again."""
    Notification.objects.bulk_create(rows, ignore_conflicts=True)


def _note_digest(rule: NotificationRule, *, at: datetime) -> int:
    due_at: Any = rule.next_digest_at
    rule.next_digest_at = next_digest_of(rule, after=at)
    rule.save(update_fields=["next_digest_at"])
    digest = {"event": Event.DIGEST, "key": due_at.isoformat(), "created_at": at, "due_at": at}
    _store([Notification(channel_id=rule.channel_id, **digest)])
    return 1


def forget_settled(*, at: datetime) -> int:
    """Deletes rows that were settled long ago, and those that were written as their channel was
    removed. Indexes: settled_notifications, notifications_due."""
    settled = Notification.objects.filter(due_at__isnull=True, created_at__lt=at - KEPT)
    lost = Notification.objects.filter(
        ~Exists(Channel.objects.filter(pk=OuterRef("channel"))), due_at__lt=at
    )
    ids = [
        *settled.order_by("created_at").values_list("pk", flat=True)[:FORGET_AT_ONCE],
        *lost.order_by("due_at").values_list("pk", flat=True)[:FORGET_AT_ONCE],
    ]
    return Notification.objects.filter(pk__in=ids).delete()[0]
