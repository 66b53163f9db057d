"""Which machines are there to run an agent's command, and how much waits for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from accounts.models import Agent
from relay.models import Connector, Dispatch

# What ran something is named beside it for as long.
KEPT_FOR = timedelta(days=30)


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


def forget_gone(*, at: datetime) -> int:
    """Connectors that were not heard of for a month, or for a day where nothing ran on them. An
    agent keeps its last one, which says when it was last heard of, and a run its own for as long as
    it is on lease. Returns how many."""
    later = Connector.objects.filter(agent=OuterRef("agent"), seen_at__gt=OuterRef("seen_at"))
    runs = Dispatch.objects.filter(connector=OuterRef("pk"))
    for_nothing = Q(~Exists(runs), seen_at__lte=at - timedelta(days=1))
    old = Q(~Exists(runs.on_lease()), seen_at__lte=at - KEPT_FOR)
    _, counted = Connector.objects.filter(Exists(later)).filter(for_nothing | old).delete()
    return counted.get("relay.Connector", 0)
