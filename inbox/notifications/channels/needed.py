"""Decides, just before a message is sent, which of its notifications are still needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from accounts.access.objects import teams_answered_by, teams_of
from inbox.models import Channel, ChannelEvent, Mention, Notification, Reading, Snooze
from inbox.notifications.channels.audience import FOR_THOSE_WHO_ANSWER
from inbox.reading.presence import PRESENCE_LASTS
from wake.models import Delivery, Failure

Outcome = Notification.Outcome
COLUMNS = (
    *("team", "headline", "claimed_agent_id", "content_hash", "created_at", "expires_at"),
    *("on_timeout", "answered_at", "acknowledged_at", "superseded_at", "erased_at"),
    "agent__agent_id",
)


@dataclass(frozen=True, slots=True)
class Facts:
    """Holds the present facts about some deliveries and the person to notify; a team's channel has
    no person. `seen` has the time when the person last had a delivery open, as far as is known."""

    deliveries: dict[UUID, Delivery]
    teams: set[int]
    answers_in: set[int]
    seen: dict[UUID, datetime]
    snoozed: set[UUID]
    open_mentions: set[str]
    # The ids of the outcomes with which approved actions failed, until a person clicks "Got it".
    open_failures: set[str]

    @classmethod
    def about(cls, channel: Channel, rows: Sequence[Notification], *, at: datetime) -> Facts:
        ids = {row.delivery_id for row in rows if row.delivery_id is not None}
        found = Delivery.objects.filter(pk__in=ids).select_related("agent").only(*COLUMNS)
        deliveries = {row.pk: row for row in found}
        failures = _open_failures(rows)
        user = channel.user
        if user is None:
            team: Any = channel.team_id
            return cls(deliveries, {team}, {team}, {}, set(), set(), failures)
        teams = teams_of(user).values_list("pk", flat=True) if user.is_active else []
        readings = Reading.objects.read().filter(user=user, delivery__in=ids)
        keys = [row.key for row in rows if row.event == ChannelEvent.MENTION]
        mentions = Mention.objects.unseen().filter(user=user, pk__in=keys)
        snoozed = Snooze.objects.of(user, at=at).filter(delivery__in=ids)
        return cls(
            deliveries,
            teams=set(teams),
            answers_in=set(teams_answered_by(user).values_list("team", flat=True)),
            seen={row.delivery_id: _last_seen(row) for row in readings},
            snoozed=set(snoozed.values_list("delivery", flat=True)),
            open_mentions={str(pk) for pk in mentions.values_list("pk", flat=True)},
            open_failures=failures,
        )


def _open_failures(rows: Sequence[Notification]) -> set[str]:
    """Returns the failures that no person has acknowledged. Makes no query if no action failed."""
    ids = [row.delivery_id for row in rows if row.event == ChannelEvent.FAILED]
    if not ids:
        return set()
    failures = Failure.objects.filter(delivery__in=ids, acknowledged_at__isnull=True)
    return {str(pk) for pk in failures.values_list("outcome", flat=True)}


def _last_seen(reading: Reading) -> datetime:
    """Returns when the person was last seen reading the delivery. Only teams with rules store this
    time. In other teams, returns the time when the person first opened the page."""
    if reading.reading_until is None:
        return reading.opened_at
    return max(reading.opened_at, reading.reading_until - PRESENCE_LASTS)


def outcome_of(row: Notification, facts: Facts) -> Outcome:
    """Returns WAITING if the notification is still needed; otherwise the reason why not."""
    if row.event == ChannelEvent.DIGEST:
        return Outcome.WAITING if facts.teams else Outcome.GONE
    delivery = facts.deliveries.get(row.delivery_id) if row.delivery_id else None
    if delivery is None or delivery.team_id not in facts.teams or delivery.erased_at is not None:
        return Outcome.GONE
    if row.event == ChannelEvent.MENTION:
        return Outcome.WAITING if row.key in facts.open_mentions else Outcome.SEEN
    if row.event == ChannelEvent.FAILED:
        is_open = row.key in facts.open_failures and not _was_seen(row, delivery, facts)
        return Outcome.WAITING if is_open else Outcome.SEEN
    if delivery.superseded_at is not None:
        return Outcome.GONE
    if row.event in FOR_THOSE_WHO_ANSWER and delivery.team_id not in facts.answers_in:
        return Outcome.GONE
    is_done = delivery.answered_at is not None or delivery.acknowledged_at is not None
    return Outcome.SEEN if is_done or _was_seen(row, delivery, facts) else Outcome.WAITING


def _was_seen(row: Notification, delivery: Delivery, facts: Facts) -> bool:
    """Returns whether the person opened the delivery after the event."""
    seen_at = facts.seen.get(delivery.pk)
    match row.event:
        case ChannelEvent.CLOSING:
            return False
        case ChannelEvent.ASSUMED:
            assert delivery.expires_at is not None  # noqa: S101 - noted only with a deadline
            return seen_at is not None and seen_at >= delivery.expires_at
        case ChannelEvent.ASSIGNED | ChannelEvent.FAILED:
            return seen_at is not None and seen_at >= row.created_at
    return seen_at is not None or delivery.pk in facts.snoozed


def settle(rows: Iterable[Notification], outcome: Outcome) -> None:
    """Stores that these rows need no further work."""
    ids = [row.pk for row in rows]
    if ids:
        Notification.objects.filter(pk__in=ids, outcome=Outcome.WAITING).update(
            outcome=outcome, due_at=None
        )
