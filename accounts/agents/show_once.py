"""Makes sure that what shows a secret once happens once, whoever sends its form and how often."""

from __future__ import annotations

from accounts import members
from accounts.audit import Actor
from accounts.models import Agent


class AlreadyMade(Exception):
    """A key or a signing secret of this agent was made since that page was opened."""


def seen(agent: Agent) -> str:
    """What a page knows of an agent's keys and secrets: they are never deleted while their agent
    lives, so each new one changes this."""
    return f"{agent.keys.count()}-{agent.signing_secrets.count()}"


def hold(agent: Agent, *, as_seen: str, by: Actor) -> None:
    """Until the transaction ends, nobody else issues or rotates anything of this agent, and `by`
    owns its team; raises NoLongerOwner. Raises AlreadyMade where somebody did since the page with
    `as_seen` was made: a double click, too, issues one key, and of two owners who rotate in the
    same moment the second is told."""
    members.hold_as_owner(agent.team_id, by=by)  # before the agent, as the commands do
    Agent.objects.select_for_update().get(pk=agent.pk)
    if seen(agent) != as_seen:
        raise AlreadyMade(AlreadyMade.__doc__)
