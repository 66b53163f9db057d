"""The first run: what is there already and what is still to be done, seen from the rows."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Exists, OuterRef

from accounts.models import Agent, ApiKey
from inbox.viewer import Viewer
from wake.greeting import FIRST_DELIVERY
from wake.models import Delivery


@dataclass(frozen=True, slots=True)
class FirstRun:
    """`agent` is one that may deliver, or one that has no key yet; `may_add` says whether this
    person makes agents and keys, or asks somebody who does."""

    agent: Agent | None
    has_key: bool
    may_add: bool

    @property
    def curl(self) -> str:
        """To be typed into a shell that knows the key; a page never shows one."""
        body = {"agent_id": self.agent.agent_id if self.agent else "", **FIRST_DELIVERY}
        return (
            f"curl {settings.WAKE_ORIGIN}/wake/v1/deliver \\\n"
            '  -H "Authorization: Bearer $WAKE_API_KEY" \\\n'
            "  -H 'Content-Type: application/json' \\\n"
            f"  -d {shlex.quote(json.dumps(body, ensure_ascii=False))}"
        )


def first_run(viewer: Viewer, *, at: datetime) -> FirstRun:
    """One query."""
    keys = ApiKey.objects.usable(at).filter(agent=OuterRef("pk"), lane=ApiKey.Lane.LIVE)
    agents = Agent.objects.filter(team__in=viewer.team_ids).annotate(has_key=Exists(keys))
    agent = agents.order_by("-has_key", "created_at", "pk").first()
    return FirstRun(
        agent=agent,
        has_key=agent is not None and agent.has_key,
        may_add=bool(viewer.owned_team_ids),
    )


def has_delivered(viewer: Viewer) -> bool:
    """Whether anything has ever come to this person's teams."""
    return Delivery.objects.filter(team__in=viewer.team_ids).exists()
