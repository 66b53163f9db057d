"""Adds the relay's panels to the pages of the inbox (pages/panels.py,
settings.WAKE_PANELS)."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings

from accounts.models import Agent, User
from pages.panels import Panel
from relay.cards import cards
from relay.models import Card
from relay.runs import presence


def of_agent(agent: Agent, *, user: User, at: datetime) -> Panel:
    """Shows whether other agents can call the agent, and which connectors run its tasks."""
    card = presence.with_runs(Card.objects.published().filter(agent=agent)).first()
    context = {
        "agent": agent,
        "card": card,
        "address": card and cards.base_url_of(card),
        "presence": card and presence.of(card, at=at),
    }
    return Panel("relay/agent/_card.html", context)


def of_connecting(agent: Agent, *, user: User, at: datetime) -> Panel | None:
    """Shows the command that runs a published agent on its team's machine."""
    card = Card.objects.published().filter(agent=agent).first()
    if card is None:
        return None
    command = f"wake connect --url {settings.WAKE_ORIGIN} -- ./agent.sh"
    return Panel(
        "relay/agent/_connect.html", {"address": cards.base_url_of(card), "command": command}
    )
