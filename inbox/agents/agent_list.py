"""Builds the lines of the list of agents, and marks the agents that need attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from accounts.access.viewer import Viewer
from accounts.models import Agent
from inbox.agents.credentials.keys import SOON
from inbox.statistics.figures import Outline, outlines
from pages.attention import Note
from pages.panels import notes
from pages.times import midnight, when

PAGE = 100
LAST_PAGE = 10_000
MAX_DIGITS = 9  # of a page number; int() raises ValueError above 4,300 digits


@dataclass(frozen=True, slots=True)
class AgentLine:
    """Describes one row of the table. `agent` comes from inbox/agents/overview.py. `connectors`
    says how many of the agent's connectors are online. `connectors` is empty for an unpublished
    agent."""

    agent: Any
    team: str
    outline: Outline
    connectors: str
    is_owned: bool


def page_number(text: str) -> int:
    """Returns the number in the text; 1 if it is not a number."""
    if not (text.isascii() and text.isdigit()):
        return 1
    return max(1, min(int(text[:MAX_DIGITS]), LAST_PAGE))


def lines_of(agents: Sequence[Agent], viewer: Viewer, *, at: datetime) -> list[AgentLine]:
    outlines_of, connectors = outlines(agents, at=at), notes("agents", agents, at=at)
    nothing = Outline()
    return [
        AgentLine(
            agent,
            viewer.team_label(agent.team_id),
            outlines_of.get(agent.pk, nothing),
            connectors.get(agent.pk, ""),
            viewer.is_owner(agent.team_id),
        )
        for agent in agents
    ]


def notes_of(lines: Sequence[AgentLine], *, at: datetime) -> list[Note]:
    return [note for line in lines for note in _notes(line.agent, at)]


def _notes(agent: Any, at: datetime) -> Iterator[Note]:
    path = reverse("agent", args=[agent.pk])
    if agent.slowed_at is not None and agent.slowed_at >= midnight(at):
        yield Note(f"{agent} reached its rate limit today. It may be stuck in a loop.", path)
    if agent.failing:
        are = "callback is" if agent.failing == 1 else "callbacks are"
        words = f"{agent.failing} {are} failing for {agent}. It can still fetch the answers."
        yield Note(words, f"{reverse('callbacks')}?state=waiting&agent={agent.pk}")
    if agent.key_ends_at is not None and agent.key_ends_at - at <= SOON:
        words = f"A key of {agent} expires {when(agent.key_ends_at, now=at)}."
        yield Note(words, f"{path}#keys")
    if agent.client_ends_at is not None and agent.client_ends_at - at <= SOON:
        words = f"A client of {agent} must be connected again {when(agent.client_ends_at, now=at)}."
        yield Note(words, f"{path}#clients")
