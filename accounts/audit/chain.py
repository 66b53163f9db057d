"""Reads the hash chains of version 0.2, one for each team. Each entry has a hash over its event and
all entries before it.

Since version 0.3 the log (accounts/log/) takes all events, and no entry is added to a chain. The
rows stay, and `audit_verify` verifies them.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC

from django.db.models import Subquery
from django.db.models.functions import Coalesce

from accounts.models import AuditEntry, AuditEvent, AuditTip

BEGINNING = "0" * 64
NO_TEAM = 0


def chain_of(event: AuditEvent) -> int:
    return NO_TEAM if event.team_id is None else event.team_id


def link(before: str, event: AuditEvent) -> str:
    """Returns the hash of an event whose predecessor has the hash `before`."""
    return hashlib.sha256(bytes.fromhex(before) + canonical(event)).hexdigest()


def canonical(event: AuditEvent) -> bytes:
    """Returns all facts about the event as bytes, which are the same each time."""
    facts = [
        event.pk,
        event.at.astimezone(UTC).isoformat(timespec="microseconds"),
        event.team_id,
        event.event,
        event.actor_kind,
        event.actor_id,
        event.actor_name,
        event.object_kind,
        event.object_id,
        event.object_name,
        event.address,
        event.detail,
    ]
    return json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()


def entry_after_tip(chain: int) -> AuditEntry | None:
    """Returns the first entry after the tip, if there is one."""
    ends = AuditTip.objects.filter(chain=chain).values("position")
    after = AuditEntry.objects.filter(chain=chain, position__gt=Coalesce(Subquery(ends), 0))
    return after.order_by("position").first()


def described(entry: AuditEntry) -> str:
    place = f"of event {entry.event_id}, position {entry.position}, chain {entry.chain}"
    return f"entry {entry.pk} ({place})"
