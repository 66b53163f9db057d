"""Which machines are there to run an agent's command, and how much waits for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from accounts.models import Agent
from relay.models import Connector, Dispatch


@dataclass(frozen=True, slots=True)
class Presence:
    """`seen_at` is when the agent was last heard of, and None where it never was."""

    machines: list[Connector]
    queued: int
    running: int
    seen_at: datetime | None

    @property
    def is_online(self) -> bool:
        return bool(self.machines)


def of(agent: Agent, *, at: datetime) -> Presence:
    connectors = Connector.objects.filter(agent=agent).order_by("-seen_at")
    last = connectors.first()
    return Presence(
        machines=list(connectors.online(at)),
        queued=Dispatch.objects.queued(agent).count(),
        running=Dispatch.objects.running(agent).count(),
        seen_at=last.seen_at if last else None,
    )


def is_online(agent: Agent, *, at: datetime) -> bool:
    """Heard of within 45 seconds, which is three heartbeats."""
    return Connector.objects.filter(agent=agent).online(at).exists()
