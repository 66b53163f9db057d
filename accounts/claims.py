"""Lets an orchestrator deliver under the ids of others, and takes that back."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.audit import Actor, record
from accounts.models import Agent, ClaimedId

MOST = 50


@transaction.atomic
def grant(agent: Agent, pattern: str, *, by: Actor) -> ClaimedId:
    """`pattern` is an agent id, or a prefix ending in `*`; one that is there already is no event.
    Raises ValidationError."""
    check(pattern)
    Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
    if pattern == agent.agent_id:
        raise ValidationError("That is its own id: it may use that anyway.")
    if agent.claimed_ids.exclude(pattern=pattern).count() >= MOST:
        raise ValidationError(f"It has {MOST} already: remove some, or name what they begin with.")
    claim, is_new = ClaimedId.objects.get_or_create(agent=agent, pattern=pattern)
    if is_new:
        record("claim.added", by=by, of=claim, team=agent.team_id, agent=agent.agent_id)
    return claim


@transaction.atomic
def withdraw(claim: ClaimedId, *, by: Actor) -> None:
    """From the next delivery on; twice is once."""
    deleted, _ = ClaimedId.objects.filter(pk=claim.pk).delete()
    if deleted:
        agent = claim.agent
        record("claim.removed", by=by, of=claim, team=agent.team_id, agent=agent.agent_id)


def check(pattern: str) -> None:
    """A star elsewhere would match nothing, and a star alone everybody. Raises ValidationError."""
    if "*" in pattern[:-1]:
        raise ValidationError("A star may only stand at the end.")
    if pattern == "*":
        raise ValidationError("Say how the ids begin: a star alone is every agent.")
