"""Makes short names for instants."""

from __future__ import annotations

from datetime import UTC, datetime


def utc(text: str) -> datetime:
    """Reads `2026-11-02 08:00` as UTC. 2 November 2026 is a Monday."""
    return datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
