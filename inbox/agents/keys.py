"""An agent's keys as a person reads them: the hint, its dates and its limit, never the key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from accounts.models import Agent, ApiKey, AuditEvent
from accounts.quota import Allowance, look
from wake.cursor import microseconds

SOON = timedelta(days=7)  # the longest overlap of a rotation


@dataclass(frozen=True, slots=True)
class KeyLine:
    """`allowance` is there while the key works."""

    key: ApiKey
    state: str
    tone: str
    allowance: Allowance | None


def key_lines(agent: Agent, *, at: datetime) -> list[KeyLine]:
    """Those in use first, the newest of them on top."""
    lines = [_line(key, at) for key in agent.keys.order_by("-created_at", "pk")]
    return sorted(lines, key=lambda line: line.allowance is None)


def slowed_down_since(lines: list[KeyLine], since: datetime) -> int:
    """How often one of them delivered more than it may. Index: audit_of_an_object."""
    ids = [str(line.key.pk) for line in lines]
    events = AuditEvent.objects.filter(object_id__in=ids, event="key.slowed_down", at__gte=since)
    return events.count()


def _line(key: ApiKey, at: datetime) -> KeyLine:
    if not key.is_usable(at):
        return KeyLine(key, "Revoked" if key.revoked_at else "Expired", "expired", None)
    ends_soon = key.expires_at is not None and key.expires_at - at <= SOON
    state = "Ends soon" if ends_soon else "In use"
    return KeyLine(key, state, "approved", look(key, now_us=microseconds(at)))
