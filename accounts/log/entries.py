"""Builds the entries of the log, and finds the entry of an event or a receipt.

The bytes of an entry are the JCS form (RFC 8785) of

    {"kind": "event", "number": 7, "salt": "...", "sha256": "...", "team": 1}

with the salt in base64url and the SHA-256 of the content in hexadecimal digits. Without the salt,
no one can use the leaf hash to confirm a guess at the content.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from accounts.audit.chain import canonical, chain_of
from accounts.log import merkle
from accounts.models import AuditEvent, LogEntry, LogWaiting

SALT_BYTES = 16


class Content(NamedTuple):
    """Describes what an entry is about: the team (0 for none), the object and its SHA-256."""

    kind: str
    team_id: int
    sha256: bytes
    event_id: int | None = None
    receipt_id: UUID | None = None


def of_event(event: AuditEvent) -> Content:
    sha256 = hashlib.sha256(canonical(event)).digest()
    return Content(LogEntry.EVENT, chain_of(event), sha256, event_id=event.pk)


def of_waiting(row: LogWaiting) -> Content:
    return Content(row.kind, row.team_id, bytes(row.sha256), receipt_id=row.object_id)


def made(
    contents: Sequence[Content], *, first: int, numbers: dict[int, int], at: datetime
) -> list[LogEntry]:
    """Returns an entry for each content. The first entry has the index `first`. `numbers` has the
    last number of each team, and is updated."""
    salts = os.urandom(SALT_BYTES * len(contents))
    entries = []
    for place, content in enumerate(contents):
        number = numbers.get(content.team_id, 0) + 1
        numbers[content.team_id] = number
        salt = salts[SALT_BYTES * place : SALT_BYTES * (place + 1)]
        entry = LogEntry(
            index=first + place, number=number, salt=salt, appended_at=at, **content._asdict()
        )
        entry.hash = merkle.leaf_hash(entry_bytes(entry))
        entries.append(entry)
    return entries


def entry_bytes(entry: LogEntry) -> bytes:
    """Returns the bytes that the leaf hash covers."""
    facts = {
        "kind": entry.kind,
        "number": entry.number,
        "salt": base64url(bytes(entry.salt)),
        "sha256": bytes(entry.sha256).hex(),
        "team": entry.team_id,
    }
    return json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()


def base64url(content: bytes) -> str:
    """Returns base64url without padding (RFC 4648, section 5)."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def entry_of_receipt(receipt_id: UUID) -> LogEntry | None:
    """Returns the entry of a receipt, or None for the few seconds until it has one."""
    return LogEntry.objects.filter(receipt_id=receipt_id).first()
