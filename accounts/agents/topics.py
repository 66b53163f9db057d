"""Names the notifications about an agent (database/notifications.py)."""

from __future__ import annotations

from uuid import UUID


def topic_of(agent_id: UUID) -> str:
    """Returns the topic for everyone who works for an agent: its runs, its keys, and whether it is
    paused."""
    return f"agent:{agent_id}"
