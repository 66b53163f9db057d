"""Grants and withdraws aliases: other ids under which an agent may deliver."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.audit import Actor, record
from accounts.models import Agent, ClaimedId
from pages.characters.look_alikes import mixes_scripts, nfc, scripts
from pages.characters.names import visible

LONGEST = 128  # characters of an alias
MAX_ALIASES = 50


@transaction.atomic
def grant(agent: Agent, pattern: str, *, by: Actor) -> ClaimedId:
    """Grants an alias: an agent id, or a prefix ending in `*`. Granting an existing alias is not
    recorded again. Raises ValidationError."""
    pattern = nfc(pattern)
    check(pattern)
    Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
    if pattern == agent.agent_id:
        raise ValidationError("An agent can always use its own ID.")
    if other := Agent.looking_like(pattern, team_id=agent.team_id):
        raise ValidationError(f"This looks like your agent {other}.")
    if agent.claimed_ids.exclude(pattern=pattern).count() >= MAX_ALIASES:
        raise ValidationError(
            f"An agent can have at most {MAX_ALIASES} aliases. Remove some, or use a prefix with *."
        )
    alias, is_new = ClaimedId.objects.get_or_create(agent=agent, pattern=pattern)
    if is_new:
        record("claim.added", by=by, of=alias, team=agent.team_id, agent=agent.agent_id)
    return alias


@transaction.atomic
def withdraw(alias: ClaimedId, *, by: Actor) -> None:
    """Withdraws an alias from the next delivery on. A second call changes nothing."""
    deleted, _ = ClaimedId.objects.filter(pk=alias.pk).delete()
    if deleted:
        agent = alias.agent
        record("claim.removed", by=by, of=alias, team=agent.team_id, agent=agent.agent_id)


def check(pattern: str) -> None:
    """Raises ValidationError for an alias that is too long, or that has invisible characters or
    letters of several scripts. Refuses a star that is not at the end, because such an alias would
    match nothing. Refuses a star alone, because it would match every ID."""
    if len(pattern) > LONGEST:
        raise ValidationError(f"Use at most {LONGEST} characters in Unicode NFC.")
    visible(pattern)
    if "*" in pattern[:-1]:
        raise ValidationError("Use * only at the end.")
    if pattern == "*":
        raise ValidationError("Enter at least one character before *.")
    if mixes_scripts(pattern):
        raise ValidationError(f"Use letters of one script, not {' and '.join(scripts(pattern))}.")
