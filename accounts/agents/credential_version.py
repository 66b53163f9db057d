"""Refuses a form whose page is older than the agent's newest key or secret."""

from __future__ import annotations

from accounts.access import members
from accounts.audit import Actor
from accounts.models import Agent


class AlreadyIssued(Exception):
    """A key or signing secret of this agent was issued after this page was opened."""


def current(agent: Agent) -> str:
    """Returns the version of the agent's keys and secrets, which a form sends back. The version
    consists of the number of keys and the number of secrets. Both numbers only grow, because no key
    or secret is deleted before its agent. Keys of clients don't count, because some are deleted."""
    return f"{agent.keys.without_grants().count()}-{agent.signing_secrets.count()}"


def lock_if_unchanged(agent: Agent, *, expected: str, by: Actor) -> None:
    """Locks the agent, so that no one else issues or rotates its keys or secrets until the
    transaction ends.

    Raises NoLongerOwner if `by` does not own the agent's team. Raises AlreadyIssued if a key or
    secret was issued after the version `expected`. So a double click issues only one key, and if
    two owners rotate at the same moment, the second one gets an error.
    """
    # Lock order: team, then agent (docs/architecture.md, Locks).
    members.hold_as_owner(agent.team_id, by=by)
    Agent.objects.select_for_update().get(pk=agent.pk)
    if current(agent) != expected:
        raise AlreadyIssued(AlreadyIssued.__doc__)
