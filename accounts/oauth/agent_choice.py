"""Lets a person choose the agent that a client or a terminal delivers as."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from accounts.access import members
from accounts.agents import registration
from accounts.audit import Actor
from accounts.models import Agent, Team, User
from accounts.oauth.policies import may_connect
from pages.fields import ID_INPUT, INPUT, NameField

ENDS_AFTER = {"30": "In 30 days", "90": "In 90 days", "365": "In a year", "": "Never"}
NEW = "new:"
NOT_IN_AN_ID = re.compile(r"[^a-z0-9]+")
MAX_PROPOSAL = 60
MAX_LISTED = 500  # agents of all teams


class NoLongerAllowed(Exception):
    """You may no longer connect clients in this team. Nothing was connected."""


class AgentChoiceForm(forms.Form):
    """Asks for an agent: one that exists, or a new one of a team."""

    agent = forms.ChoiceField(label="Agent", widget=forms.Select(attrs=INPUT))
    agent_id = NameField(
        label="ID of the new agent",
        max_length=128,
        required=False,
        widget=forms.TextInput(attrs=ID_INPUT),
        help_text="Shown with every delivery and can't be changed.",
    )
    days = forms.ChoiceField(
        label="Expires",
        required=False,
        choices=list(ENDS_AFTER.items()),
        initial="90",
        widget=forms.Select(attrs=INPUT),
        help_text="You can end it at any time before.",
    )

    def __init__(
        self, data: QueryDict | None, *, teams: list[Team], proposal: str, **options: Any
    ) -> None:
        """Selects the agent with the proposed id if there is one, else a new agent of that id."""
        super().__init__(data, **options)
        agents = list(
            Agent.objects.active()
            .filter(team__in=teams)
            .order_by("team__name", "agent_id")[:MAX_LISTED]
        )
        self.teams = {team.slug: team for team in teams}
        self.agents = {str(agent.pk): agent for agent in agents}
        choices = self.fields["agent"]
        assert isinstance(choices, forms.ChoiceField)  # noqa: S101 - for the type checker
        choices.choices = [(team.name, _of_team(team, agents)) for team in teams]
        same = next((str(agent.pk) for agent in agents if agent.agent_id == proposal), None)
        choices.initial = same or (NEW + teams[0].slug if teams else None)
        self.fields["agent_id"].initial = "" if same else proposal

    @property
    def team_shown(self) -> Team | None:
        """Returns the team of the agent that is selected on the page."""
        chosen = str(self["agent"].value() or "")
        if agent := self.agents.get(chosen):
            return next(team for team in self.teams.values() if team.pk == agent.team_id)
        return self.teams.get(chosen.removeprefix(NEW))

    @property
    def agent_shown(self) -> str:
        """Returns the id of the agent that is selected on the page, or of the new one."""
        agent = self.agents.get(str(self["agent"].value()))
        return agent.agent_id if agent else str(self["agent_id"].value() or "")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.is_new and not cleaned.get("agent_id") and "agent_id" not in self.errors:
            self.add_error("agent_id", "Enter an ID for the new agent.")
        return cleaned

    @property
    def is_new(self) -> bool:
        return str(self.cleaned_data.get("agent", "")).startswith(NEW)

    @property
    def team_id(self) -> int:
        """Returns the team of the chosen agent. The form must be valid."""
        chosen = self.cleaned_data["agent"]
        if self.is_new:
            return self.teams[chosen.removeprefix(NEW)].pk
        return self.agents[str(UUID(chosen))].team_id

    def ends_at(self, *, at: datetime) -> datetime | None:
        days = self.cleaned_data["days"]
        return at + timedelta(days=int(days)) if days else None

    def stored_agent(self, *, person: User, host: str | None, by: Actor) -> Agent:
        """Returns the chosen agent, inside the caller's transaction; registers a new one. Locks the
        team. Raises NoLongerAllowed, ValidationError and registration.AgentIdTaken."""
        team = members.hold(self.team_id)
        if not may_connect(person, team, host=host):
            raise NoLongerAllowed(NoLongerAllowed.__doc__)
        if not self.is_new:
            chosen = Agent.objects.active().select_related("team")
            agent = chosen.filter(pk=self.cleaned_data["agent"]).first()
            if agent is None:
                raise NoLongerAllowed("This agent was archived. Nothing was connected.")
            return agent
        agent = Agent(team=team, agent_id=self.cleaned_data["agent_id"])
        agent.clean()
        registration.register(agent, by=by)
        return agent

    def explain(self, problem: ValidationError | registration.AgentIdTaken) -> None:
        """Shows why the new agent cannot have its id."""
        if isinstance(problem, ValidationError):
            self.add_error(None, problem)
        else:
            self.add_error("agent_id", str(problem))


def proposal_for(client_name: str, person: User) -> str:
    """Returns an id such as `chatgpt-olga`."""
    return as_agent_id(f"{client_name} {person.display_name}")


def as_agent_id(words: str) -> str:
    return NOT_IN_AN_ID.sub("-", words.lower()).strip("-")[:MAX_PROPOSAL].strip("-")


def _of_team(team: Team, agents: list[Agent]) -> list[tuple[str, str]]:
    own = [(str(agent.pk), agent.agent_id) for agent in agents if agent.team_id == team.pk]
    return [(NEW + team.slug, "A new agent"), *own]
