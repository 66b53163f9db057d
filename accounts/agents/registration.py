"""Registers, pauses and archives agents."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Case, DateTimeField, F, Value, When
from django.db.models.functions import Coalesce

from accounts.access import members
from accounts.agents.signing_secrets import ensure_secret
from accounts.agents.topics import topic_of
from accounts.audit import Actor, record
from accounts.models import Agent
from database.clock import database_now
from database.notifications import notify

JUST_NOW = timedelta(minutes=10)


class AgentIdTaken(Exception):
    """This team already has an agent with this ID. It may be archived."""


class AgentArchived(Exception):
    """This agent is archived. Restore it first."""


@transaction.atomic
def register(agent: Agent, *, by: Actor) -> str | None:
    """Stores a new agent and returns its signing secret, which cannot be shown again. Raises
    AgentIdTaken."""
    # The team is locked. Without the lock, a concurrent change of the team's rules would not reach
    # the new agent.
    agent.rules_version = members.hold(agent.team_id).rules_version
    agent.created_at = database_now()
    try:
        with transaction.atomic():
            agent.save(force_insert=True)
    except IntegrityError as error:
        raise AgentIdTaken(AgentIdTaken.__doc__) from error
    record("agent.registered", by=by, of=agent, team=agent.team_id)
    return ensure_secret(agent, by=by)


def registered_just_now(agent: Agent, *, at: datetime) -> Agent | None:
    """Returns the stored agent with this ID, if it is so new that the form was probably sent
    twice."""
    same = Agent.objects.filter(team=agent.team_id, agent_id=agent.agent_id)
    return same.filter(created_at__gt=at - JUST_NOW).first()


@transaction.atomic
def pause(agent: Agent, *, by: Actor, at: datetime) -> None:
    """Refuses the agent's deliveries from now on. The agent can still read answers. A second call
    changes nothing."""
    if Agent.objects.filter(pk=agent.pk, paused_at__isnull=True).update(paused_at=at):
        record("agent.paused", by=by, of=agent, team=agent.team_id, at=at)


@transaction.atomic
def resume(agent: Agent, *, by: Actor) -> None:
    """Accepts the agent's deliveries again. Raises AgentArchived."""
    if Agent.objects.archived().filter(pk=agent.pk).exists():
        raise AgentArchived(AgentArchived.__doc__)
    if Agent.objects.active().filter(pk=agent.pk, paused_at__isnull=False).update(paused_at=None):
        notify(topic_of(agent.pk))
        record("agent.resumed", by=by, of=agent, team=agent.team_id)


@transaction.atomic
def archive(agent: Agent, *, by: Actor, at: datetime) -> None:
    """Takes the agent off the lists and refuses its deliveries. The agent's deliveries stay, and
    the agent can still read answers. A second call changes nothing."""
    paused_at = Coalesce(F("paused_at"), Value(at), output_field=DateTimeField())
    active = Agent.objects.active().filter(pk=agent.pk)
    if active.update(archived_at=at, paused_at=paused_at):
        record("agent.archived", by=by, of=agent, team=agent.team_id, at=at)


@transaction.atomic
def restore(agent: Agent, *, by: Actor) -> None:
    """Puts an archived agent back on the lists. The agent can deliver again, unless it was paused
    before it was archived."""
    resumed = Case(When(paused_at=F("archived_at"), then=None), default=F("paused_at"))
    archived = Agent.objects.archived().filter(pk=agent.pk)
    if archived.update(archived_at=None, paused_at=resumed):
        notify(topic_of(agent.pk))
        record("agent.restored", by=by, of=agent, team=agent.team_id)
