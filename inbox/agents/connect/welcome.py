"""Lists the missing steps of an inbox's first run."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Exists, Max, OuterRef

from accounts.access.viewer import Viewer
from accounts.models import Agent, ApiKey
from wake.models import Delivery
from wake.server.run.greeting import FIRST_DELIVERY


@dataclass(frozen=True, slots=True)
class FirstRun:
    """Describes how far a new team is. `agent` has a key, or still needs one. `may_add` says
    whether this person may create the agent's key, or the agent if there is none."""

    agent: Agent | None
    has_key: bool
    may_add: bool

    @property
    def curl(self) -> str:
        """Returns a command for a shell in which the key is set, because a page never shows a
        key."""
        body = {"agent_id": self.agent.agent_id if self.agent else "", **FIRST_DELIVERY}
        return (
            f"curl {settings.WAKE_ORIGIN}/wake/v1/deliver \\\n"
            '  -H "Authorization: Bearer $WAKE_API_KEY" \\\n'
            "  -H 'Content-Type: application/json' \\\n"
            f"  -d {shlex.quote(json.dumps(body, ensure_ascii=False))}"
        )


def first_run(viewer: Viewer, *, at: datetime) -> FirstRun:
    """Returns the state of the viewer's teams. Makes one query."""
    usable = ApiKey.objects.without_grants().usable(at)
    keys = usable.filter(agent=OuterRef("pk"), mode=ApiKey.Mode.LIVE)
    agents = Agent.objects.active().filter(team__in=viewer.team_ids).annotate(has_key=Exists(keys))
    agent: Any = agents.order_by("-has_key", "created_at", "pk").first()
    return FirstRun(
        agent=agent,
        has_key=agent is not None and agent.has_key,
        may_add=viewer.is_owner(agent.team_id) if agent else bool(viewer.owned_team_ids),
    )


def has_delivered(viewer: Viewer) -> bool:
    """Returns whether a delivery ever arrived for the viewer's teams."""
    return Delivery.objects.filter(team__in=viewer.team_ids).exists()


def first_delivery(agent: Agent) -> Delivery | None:
    """Returns the agent's only delivery, or one of its oldest, without content. Makes two queries.
    Each query reads the first row of the index cursor_of_an_agent."""
    by_mode = [Delivery.objects.of_agent(agent, mode) for mode in ApiKey.Mode.values]
    firsts = [rows.only("created_at", "mode").order_by("activity_at").first() for rows in by_mode]
    return min(filter(None, firsts), key=lambda delivery: delivery.created_at, default=None)


def last_request_at(agent: Agent) -> datetime | None:
    """Returns when one of the agent's keys or clients was last used, to the minute, or None before
    the first request. Makes one query."""
    last: datetime | None = agent.keys.aggregate(at=Max("last_used_at"))["at"]
    return last
