"""Lists all stored data about a person, without secrets, for them to download."""

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
    DirectoryAccount,
    DirectoryGroup,
    Identity,
    Invitation,
    Membership,
    MovedMembership,
    OAuthGrant,
    Passkey,
    RecoveryCode,
    SecondFactor,
    User,
)
from accounts.sign_in.browsers import sessions

ROWS_AT_ONCE = 200
Row = dict[str, Any]


class ExportSection(NamedTuple):
    """Names a part of the file, the person's rows in it, and their columns."""

    name: str
    rows: Callable[[User], QuerySet[Any]]
    columns: tuple[str, ...]


# Passwords, keys, tokens, digests and secret channel addresses are left out.
SECTIONS = [
    ExportSection(
        "profile",
        lambda user: User.objects.filter(pk=user.pk),
        (
            *("id", "email", "display_name", "time_zone", "date_joined", "last_login"),
            *("is_active", "is_staff", "is_superuser"),
        ),
    ),
    ExportSection(
        "teams",
        lambda user: Membership.objects.filter(user=user),
        ("team__slug", "team__name", "role", "from_groups", "created_at"),
    ),
    ExportSection(
        "moved_teams",
        lambda user: MovedMembership.objects.filter(user=user),
        ("move__slug", "move__name", "move__state", "move__server", "role", "created_at"),
    ),
    ExportSection(
        "absence", lambda user: Absence.objects.filter(user=user), ("until", "deputy__display_name")
    ),
    ExportSection(
        "address_changes",
        lambda user: AddressChange.objects.filter(user=user),
        ("old_email", "new_email", "asked_at", "confirmed_at"),
    ),
    ExportSection(
        "connected_accounts",
        lambda user: Identity.objects.filter(user=user),
        ("issuer", "subject", "email", "directory_id", "groups", "connected_at"),
    ),
    ExportSection(
        "directory_account",
        lambda user: DirectoryAccount.objects.filter(user=user),
        (
            *("user_name", "external_id", "display_name", "formatted_name", "given_name"),
            *("family_name", "emails", "is_active", "created_at", "changed_at", "deleted_at"),
        ),
    ),
    ExportSection(
        "directory_groups",
        lambda user: DirectoryGroup.objects.filter(members__user=user),
        ("display_name", "external_id"),
    ),
    ExportSection(
        "passkeys",
        lambda user: Passkey.objects.filter(user=user),
        ("name", "transports", "is_multi_device", "is_backed_up", "created_at", "last_used_at"),
    ),
    ExportSection(
        "authenticator_app", lambda user: SecondFactor.objects.filter(user=user), ("created_at",)
    ),
    ExportSection(
        "recovery_codes", lambda user: RecoveryCode.objects.filter(user=user), ("used_at",)
    ),
    ExportSection(
        "connected_clients",
        lambda user: OAuthGrant.objects.of_person(user),
        (
            *("client_name", "client_host", "key__agent__team__slug", "key__agent__agent_id"),
            *("created_at", "key__last_used_at", "ends_at", "key__revoked_at"),
        ),
    ),
    ExportSection(
        "invitations_sent",
        lambda user: Invitation.objects.filter(invited_by=user),
        ("team__slug", "role", "email", "created_at", "expires_at", "accepted_at", "revoked_at"),
    ),
    ExportSection(
        "invitations_accepted",
        lambda user: Invitation.objects.filter(accepted_by=user),
        ("team__slug", "role", "email", "created_at", "accepted_at"),
    ),
    ExportSection(
        "audit",
        lambda user: AuditEvent.objects.filter(actor_kind="person", actor_id=str(user.pk)),
        (
            *("id", "at", "team_id", "event", "actor_name", "object_kind", "object_id"),
            *("object_name", "address", "detail"),
        ),
    ),
]


def register(*sections: ExportSection) -> None:
    """Adds parts to the file. Apps call this when they start."""
    SECTIONS.extend(sections)


def export(user: User, *, here: Any, by: Actor, at: datetime) -> Iterator[str]:
    """Returns the file as one JSON object, in parts that need little memory. `here` is the session
    that asks for the export. The audit records the export."""
    record("person.exported", by=by, of=user, team=None, at=at)
    return _parts(user, here=here, at=at)


def _parts(user: User, *, here: Any, at: datetime) -> Iterator[str]:
    yield f'{{\n"exported_at": {_json(at)},\n"sessions": '
    yield from _listed(_sessions(user, here=here, at=at))
    for section in SECTIONS:
        yield f",\n{_json(section.name)}: "
        yield from _listed(_rows(section, user))
    yield "\n}\n"


def _rows(section: ExportSection, user: User) -> Iterator[Row]:
    """Makes a query for each ROWS_AT_ONCE rows. No database connection stays open between two parts
    of a download, so a cursor of the database would be lost."""
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
