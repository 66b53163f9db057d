"""Makes a form that shows a new secret work only once, however often it is sent."""

from __future__ import annotations

from accounts.audit import Actor
from accounts.models import Agent
from accounts.teams import members


class AlreadyIssued(Exception):
    """A key or signing secret of this agent was issued after this page was opened."""


def seen(agent: Agent) -> str:
    """Returns a text that every new key or secret of the agent changes, for a page to send back.
    Keys and secrets are never deleted before their agent."""
    return f"{agent.keys.count()}-{agent.signing_secrets.count()}"


def hold(agent: Agent, *, as_seen: str, by: Actor) -> None:
    """Locks the agent, so that no one else issues or rotates its keys or secrets until the
    transaction ends.

    Raises NoLongerOwner if `by` does not own its team. Raises AlreadyIssued if a key or secret was
    issued since the page with `as_seen` was opened: a double click issues one key, and the second
    of two owners who rotate at the same moment gets an error.
    """
    members.hold_as_owner(agent.team_id, by=by)  # before the agent, as the commands do
    Agent.objects.select_for_update().get(pk=agent.pk)
    if seen(agent) != as_seen:
        raise AlreadyIssued(AlreadyIssued.__doc__)
