"""Writes the mails about waiting deliveries: digests and reminders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from accounts.access.viewer import Viewer
from accounts.log.checkpoints import checkpoints
from accounts.models import User
from inbox.audit.log_places import log_head
from inbox.models import Preferences
from inbox.notifications.waiting import COUNT_UP_TO, Waiting, WaitingDeliveries
from inbox.reading.deadlines import deadline_text
from pages.local_time import zone_of
from pages.mail import send, unlinked, url_of
from pages.times import when
from wake.models import Delivery


@dataclass(frozen=True, slots=True)
class MailLine:
    headline: str
    agent: str
    deadline: str
    url: str


@dataclass(frozen=True, slots=True)
class Part:
    title: str
    lines: list[MailLine]
    more: int


def send_digest(preferences: Preferences, waiting: Waiting, *, at: datetime) -> None:
    """Sends three groups of deliveries, each with its count and first headlines; raises
    NotTaken."""
    user = preferences.user
    with timezone.override(zone_of(user)):
        until = _by(waiting.until, at)
        counts = [
            _count(waiting.needs_you, "delivery needs you", "deliveries need you"),
            _count(waiting.closing, "deadline", "deadlines") + f" before {until}",
            _count(waiting.informs, "update to read", "updates to read"),
        ]
        if waiting.mentions.count:
            counts.append(f"{_mentions(waiting)}: {url_of('mentions')}")
        parts = [
            _part(f"Deadlines before {until}", waiting.closing, at),
            _part("Needs you", waiting.others, at),
            _part("Updates", waiting.informs, at),
        ]
        context = {
            "counts": counts,
            "parts": parts,
            "log_head": _log_head(user),
            "checkpoint": _checkpoint(user),
        }
        _send(user, subject=_subject(waiting), template="digest", **context)


def send_reminder(user: User, closing: Sequence[Delivery], *, at: datetime) -> None:
    """Reminds the person of agents that continue within the hour; raises NotTaken."""
    count = len(closing)
    agents = "1 agent continues" if count == 1 else f"{count} agents continue"
    title = f"{agents} without you within the hour"
    with timezone.override(zone_of(user)):
        part = _part(title, WaitingDeliveries(closing[:COUNT_UP_TO], count), at)
        _send(user, subject=f"Wake: {title}", template="reminder", parts=[part])


def _send(user: User, *, subject: str, template: str, **context: Any) -> None:
    settings_url = url_of("settings-digest")
    context |= {"inbox_url": url_of("inbox"), "settings_url": settings_url}
    send(
        user.email,
        subject=subject,
        template=f"inbox/notifications/mail/{template}",
        context=context,
        # The link is not the one-click unsubscribe of RFC 8058, because a reader of the mail must
        # not be able to change settings.
        headers={"List-Unsubscribe": f"<{settings_url}>"},
    )


def _subject(waiting: Waiting) -> str:
    parts = []
    if waiting.needs_you.count:
        parts.append(_count(waiting.needs_you, "delivery needs you", "deliveries need you"))
    if waiting.closing.count:
        parts.append(_count(waiting.closing, "deadline soon", "deadlines soon"))
    if waiting.mentions.count:
        parts.append(_mentions(waiting))
    if not parts:
        parts.append(_count(waiting.informs, "update to read", "updates to read"))
    return f"Wake: {', '.join(parts)}"


def _mentions(waiting: Waiting) -> str:
    count = waiting.mentions.count
    return "1 comment mentions you" if count == 1 else f"{count} comments mention you"


def _count(group: WaitingDeliveries, one: str, many: str) -> str:
    if group.count > COUNT_UP_TO:
        return f"More than {COUNT_UP_TO} {many}"
    return f"{group.count or 'No'} {one if group.count in {0, 1} else many}"


def _part(title: str, group: WaitingDeliveries, at: datetime) -> Part:
    lines = [
        MailLine(
            headline=unlinked(delivery.headline),
            agent=unlinked(delivery.agent_name),  # type: ignore[attr-defined]  # listed() adds it
            deadline=deadline_text(delivery, at),
            url=url_of("delivery", delivery.pk),
        )
        for delivery in group.rows
    ]
    return Part(title, lines, group.more)


def _log_head(user: User) -> str:
    """Returns the head of the log for a person who owns a team. An attacker on this server cannot
    change heads that are in a mailbox."""
    head = log_head() if Viewer.of(user).owned_team_ids else None
    return str(head) if head else ""


def _checkpoint(user: User) -> str:
    """Returns the newest signed checkpoint for a person who owns a team, with its cosignatures."""
    checkpoint = checkpoints.newest() if Viewer.of(user).owned_team_ids else None
    return checkpoints.cosigned_note(checkpoint) if checkpoint else ""


def _by(until: datetime, at: datetime) -> str:
    return when(until, now=at).removeprefix("at ").removeprefix("on ")
