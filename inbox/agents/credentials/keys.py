"""Describes an agent's keys to people: hint, dates and limit, but never the key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from accounts.agents.quota import Allowance, allowance_of
from accounts.models import Agent, ApiKey
from database.clock import microseconds

SOON = timedelta(days=7)  # as long as the longest overlap of a rotation


@dataclass(frozen=True, slots=True)
class KeyLine:
    """Shows one key. `allowance` is set while the key works."""

    key: ApiKey
    state: str
    tone: str
    allowance: Allowance | None


def key_lines(agent: Agent, *, at: datetime) -> list[KeyLine]:
    """Returns the keys: working ones first, newest on top."""
    lines = [_line(key, at) for key in agent.keys.without_grants().order_by("-created_at", "pk")]
    return sorted(lines, key=lambda line: line.allowance is None)


def _line(key: ApiKey, at: datetime) -> KeyLine:
    if not key.is_usable(at):
        return KeyLine(key, "Revoked" if key.revoked_at else "Expired", "expired", None)
    ends_soon = key.expires_at is not None and key.expires_at - at <= SOON
    state = "Expires soon" if ends_soon else "Active"
    return KeyLine(key, state, "approved", allowance_of(key, now_us=microseconds(at)))
