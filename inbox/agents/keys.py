"""Describes an agent's keys to people: hint, dates and limit, never the key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from accounts.agents.quota import Allowance, allowance_of
from accounts.models import Agent, ApiKey, AuditEvent
from database.clock import microseconds

SOON = timedelta(days=7)  # the longest overlap of a rotation


@dataclass(frozen=True, slots=True)
class KeyLine:
    """One key; `allowance` is set while the key works."""

    key: ApiKey
    state: str
    tone: str
    allowance: Allowance | None


def key_lines(agent: Agent, *, at: datetime) -> list[KeyLine]:
    """Returns the keys, those that work first and the newest on top."""
    lines = [_line(key, at) for key in agent.keys.order_by("-created_at", "pk")]
    return sorted(lines, key=lambda line: line.allowance is None)


def slowed_down_since(lines: list[KeyLine], since: datetime) -> int:
    """Counts how often one of the keys exceeded its limit. Index: audit_of_an_object."""
    ids = [str(line.key.pk) for line in lines]
    events = AuditEvent.objects.filter(object_id__in=ids, event="key.slowed_down", at__gte=since)
    return events.count()


def _line(key: ApiKey, at: datetime) -> KeyLine:
    if not key.is_usable(at):
        return KeyLine(key, "Revoked" if key.revoked_at else "Expired", "expired", None)
    ends_soon = key.expires_at is not None and key.expires_at - at <= SOON
    state = "Expires soon" if ends_soon else "Active"
    return KeyLine(key, state, "approved", allowance_of(key, now_us=microseconds(at)))
