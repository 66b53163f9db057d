"""Counts the online connectors of an agent, and the runs that wait for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from accounts.models import Agent
from relay.models import Connector, Run
from relay.models.cards import CardQuerySet
from relay.models.runs import RunQuerySet

# For this long, the page of a task can name the connector of a run.
KEPT_FOR = timedelta(days=30)
MAX_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Presence:
    """Holds the online connectors and the runs of an agent. `seen_at` is its connectors' last
    contact, or None."""

    online: list[Connector]
    queued: int
    running: int
    seen_at: datetime | None


def with_runs(cards: CardQuerySet) -> CardQuerySet:
    """Adds how many runs of the card's agent wait (`queued`) and execute (`running`)."""
    runs = Run.objects.filter(agent=OuterRef("agent"))
    queued, running = runs.filter(state=Run.State.QUEUED), runs.on_lease()
    return cards.annotate(queued=_number_of(queued), running=_number_of(running))


def of(card: Any, *, at: datetime) -> Presence:
    """Returns the presence of a card from `with_runs`. Makes one query."""
    is_online = Exists(Connector.objects.online(at).filter(pk=OuterRef("pk")))
    rows = Connector.objects.filter(agent=card.agent_id).annotate(is_online=is_online)
    newest: list[Any] = list(rows.order_by("-is_online", "-seen_at")[:MAX_SHOWN])
    return Presence(
        online=[connector for connector in newest if connector.is_online],
        queued=card.queued,
        running=card.running,
        seen_at=max((connector.seen_at for connector in newest), default=None),
    )


def _number_of(runs: RunQuerySet) -> Coalesce:
    by_agent = runs.order_by().values("agent").annotate(number=Count("pk"))
    return Coalesce(Subquery(by_agent.values("number")), 0)


def count_online(agents: Iterable[UUID], *, at: datetime) -> dict[UUID, int]:
    """Returns how many connectors of each agent are online. Agents without one are left out."""
    rows = Connector.objects.filter(agent__in=list(agents)).online(at)
    return dict(rows.values_list("agent_id").annotate(number=Count("pk")))


def count_all_online(at: datetime) -> int:
    """Returns how many connectors of all agents are online."""
    return Connector.objects.online(at).count()


def takes_runs(agent: Agent, *, at: datetime) -> bool:
    """Returns whether any connector that is not draining was in contact within 45 seconds, which is
    three heartbeats."""
    return Connector.objects.filter(agent=agent, draining_at=None).online(at).exists()


def forget_gone(*, at: datetime) -> int:
    """Deletes connectors without contact for a month, or for a day if they never had a run; returns
    how many. The last connector of an agent stays, because it shows the agent's last contact. A
    connector with a leased run stays, too."""
    later = Connector.objects.filter(agent=OuterRef("agent"), seen_at__gt=OuterRef("seen_at"))
    runs = Run.objects.filter(connector=OuterRef("pk"))
    for_nothing = Q(~Exists(runs), seen_at__lte=at - timedelta(days=1))
    old = Q(~Exists(runs.on_lease()), seen_at__lte=at - KEPT_FOR)
    _, counted = Connector.objects.filter(Exists(later)).filter(for_nothing | old).delete()
    return counted.get("relay.Connector", 0)
