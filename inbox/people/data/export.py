"""Lists everything that is stored about a person, without secrets, for them to download."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, time
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from accounts.audit import Actor, record
from accounts.models import (
    Absence,
    AddressChange,
    AuditEvent,
    Identity,
    Invitation,
    Membership,
    Passkey,
    RecoveryCode,
    SecondFactor,
    User,
)
from accounts.sign_in import sessions
from inbox.models import (
    Channel,
    Comment,
    Mention,
    NotificationRule,
    Preferences,
    Reading,
    Reminder,
    SavedReply,
    Snooze,
)
from wake.models import AssignedPerson, Draft, Response, Vote

ROWS_AT_ONCE = 200
Row = dict[str, Any]


class Section(NamedTuple):
    """Names a part of the file, the rows of a person in it, and their columns."""

    name: str
    rows: Callable[[User], QuerySet[Any]]
    columns: tuple[str, ...]


# Passwords, keys, tokens, digests and the addresses of channels that are keys are left out.
SECTIONS = (
    Section(
        "profile",
        lambda user: User.objects.filter(pk=user.pk),
        (
            *("id", "email", "display_name", "time_zone", "date_joined", "last_login"),
            *("is_active", "is_staff", "is_superuser"),
        ),
    ),
    Section(
        "teams",
        lambda user: Membership.objects.filter(user=user),
        ("team__slug", "team__name", "role", "from_groups", "created_at"),
    ),
    Section(
        "absence", lambda user: Absence.objects.filter(user=user), ("until", "deputy__display_name")
    ),
    Section(
        "address_changes",
        lambda user: AddressChange.objects.filter(user=user),
        ("old_email", "new_email", "asked_at", "confirmed_at"),
    ),
    Section(
        "connected_accounts",
        lambda user: Identity.objects.filter(user=user),
        ("issuer", "subject", "email", "connected_at"),
    ),
    Section(
        "passkeys",
        lambda user: Passkey.objects.filter(user=user),
        ("name", "transports", "is_multi_device", "is_backed_up", "created_at", "last_used_at"),
    ),
    Section(
        "authenticator_app", lambda user: SecondFactor.objects.filter(user=user), ("created_at",)
    ),
    Section("recovery_codes", lambda user: RecoveryCode.objects.filter(user=user), ("used_at",)),
    Section(
        "invitations_sent",
        lambda user: Invitation.objects.filter(invited_by=user),
        ("team__slug", "role", "email", "created_at", "expires_at", "accepted_at", "revoked_at"),
    ),
    Section(
        "invitations_accepted",
        lambda user: Invitation.objects.filter(accepted_by=user),
        ("team__slug", "role", "email", "created_at", "accepted_at"),
    ),
    Section(
        "preferences",
        lambda user: Preferences.objects.filter(user=user),
        (
            *("theme", "density", "after_answer", "saved_views", "keyboard", "digest"),
            *("digest_at", "digest_hours", "digest_days", "quiet_from", "quiet_until"),
            *("quiet_days", "wants_reminders", "next_digest_at", "digest_sent_at", "reminded_at"),
        ),
    ),
    Section(
        "channels",
        lambda user: Channel.objects.filter(user=user),
        ("kind", "name", "created_at", "verified_at", "failing_since", "suspended_at", "error"),
    ),
    Section(
        "notification_rules",
        lambda user: NotificationRule.objects.filter(channel__user=user),
        (
            *("channel__name", "events", "agents", "only_assigned", "quiet_from", "quiet_until"),
            *("quiet_days", "most_an_hour"),
        ),
    ),
    Section(
        "team_channels_added",
        lambda user: Channel.objects.filter(added_by=user, user__isnull=True),
        ("kind", "name", "team__slug", "created_at"),
    ),
    Section(
        "saved_replies",
        lambda user: SavedReply.objects.filter(user=user),
        ("status", "name", "text"),
    ),
    Section(
        "drafts",
        lambda user: Draft.objects.filter(user=user),
        ("delivery", "feedback", "edited_json", "saved_at"),
    ),
    Section(
        "answers",
        lambda user: Response.objects.filter(by=user),
        (
            *("delivery", "status", "by_name", "feedback", "edited_json", "answered_at"),
            *("responded_at", "sent_at", "picked_up_at", "place", "all_in_sight"),
        ),
    ),
    Section(
        "votes",
        lambda user: Vote.objects.filter(user=user),
        ("delivery", "name", "feedback", "voted_at", "place", "all_in_sight"),
    ),
    Section(
        "comments",
        lambda user: Comment.objects.filter(author=user),
        ("delivery", "author_name", "text", "written_at", "removed_at"),
    ),
    Section(
        "mentions",
        lambda user: Mention.objects.filter(user=user),
        ("delivery", "comment__author_name", "seen_at"),
    ),
    Section(
        "assigned",
        lambda user: AssignedPerson.objects.filter(user=user),
        ("assignment", "name", "deputy_for", "taken_at", "added_after"),
    ),
    Section(
        "opened",
        lambda user: Reading.objects.filter(user=user),
        ("delivery", "opened_at", "reading_until"),
    ),
    Section("snoozed", lambda user: Snooze.objects.filter(user=user), ("delivery", "until")),
    Section("reminders", lambda user: Reminder.objects.filter(user=user), ("delivery", "sent_at")),
    Section(
        "audit",
        lambda user: AuditEvent.objects.filter(actor_kind="person", actor_id=str(user.pk)),
        (
            *("id", "at", "team_id", "event", "actor_name", "object_kind", "object_id"),
            *("object_name", "address", "detail"),
        ),
    ),
)


def export(user: User, *, here: Any, by: Actor, at: datetime) -> Iterator[str]:
    """Returns the file as one JSON object, in parts that need little memory. `here` is the session
    that asks. The audit names the export."""
    record("person.exported", by=by, of=user, team=None, at=at)
    return _parts(user, here=here, at=at)


def _parts(user: User, *, here: Any, at: datetime) -> Iterator[str]:
    yield f'{{\n"exported_at": {_json(at)},\n"sessions": '
    yield from _listed(_sessions(user, here=here, at=at))
    for section in SECTIONS:
        yield f",\n{_json(section.name)}: "
        yield from _listed(_rows(section, user))
    yield "\n}\n"


def _rows(section: Section, user: User) -> Iterator[Row]:
    """Makes a query for each ROWS_AT_ONCE rows: between two parts of a download there is no
    connection that could hold a cursor."""
    ordered = section.rows(user).order_by("pk")
    rows: Any = ordered.values("pk", *section.columns)
    last = None
    while chunk := list((rows.filter(pk__gt=last) if last is not None else rows)[:ROWS_AT_ONCE]):
        last = chunk[-1]["pk"]
        for row in chunk:
            yield {name: row[name] for name in section.columns}


def _sessions(user: User, *, here: Any, at: datetime) -> Iterator[Row]:
    for sign_in in sessions.sign_ins(user, here=here, at=at):
        yield {
            "browser": sign_in.browser,
            "signed_in_at": sign_in.signed_in_at,
            "seen_at": sign_in.seen_at,
        }


def _listed(rows: Iterable[Row]) -> Iterator[str]:
    separator = "["
    for row in rows:
        yield f"{separator}\n  {_json({name.replace('__', '_'): row[name] for name in row})}"
        separator = ","
    yield "[]" if separator == "[" else "\n]"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_text)


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, date | time | UUID):
        return str(value)
    raise TypeError(type(value).__name__)
