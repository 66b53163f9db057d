"""Tells which connectors are online for an agent, and how many runs wait for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q

from accounts.models import Agent
from relay.models import Connector, Run

# The page of a task names the connector of a run for as long.
KEPT_FOR = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Presence:
    """The connectors and runs of an agent. `seen_at` is when a connector of it was last heard of,
    or None."""

    machines: list[Connector]
    queued: int
    running: int
    seen_at: datetime | None


def of(agent: Agent, *, at: datetime) -> Presence:
    connectors = Connector.objects.filter(agent=agent).order_by("-seen_at")
    last = connectors.first()
    return Presence(
        machines=list(connectors.online(at)),
        queued=Run.objects.queued(agent).count(),
        running=Run.objects.running(agent).count(),
        seen_at=last.seen_at if last else None,
    )


def count_online(agents: Iterable[UUID], *, at: datetime) -> dict[UUID, int]:
    """Returns how many connectors of each of these agents are online, if any are."""
    rows = Connector.objects.filter(agent__in=list(agents)).online(at)
    return dict(rows.values_list("agent_id").annotate(number=Count("pk")))


def takes_runs(agent: Agent, *, at: datetime) -> bool:
    """Tells whether a connector was heard of within 45 seconds, which is three heartbeats, and is
    not draining."""
    return Connector.objects.filter(agent=agent, draining_at=None).online(at).exists()


def forget_gone(*, at: datetime) -> int:
    """Deletes connectors that were not heard of for a month, or for a day if they never had a run;
    returns how many. The last connector of an agent stays, because it says when the agent was last
    heard of, and so does one with a leased run."""
    later = Connector.objects.filter(agent=OuterRef("agent"), seen_at__gt=OuterRef("seen_at"))
    runs = Run.objects.filter(connector=OuterRef("pk"))
    for_nothing = Q(~Exists(runs), seen_at__lte=at - timedelta(days=1))
    old = Q(~Exists(runs.on_lease()), seen_at__lte=at - KEPT_FOR)
    _, counted = Connector.objects.filter(Exists(later)).filter(for_nothing | old).delete()
    return counted.get("relay.Connector", 0)
