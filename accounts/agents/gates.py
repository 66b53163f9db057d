"""Issues and revokes gate keys, and looks up the gate key of a request.

A gate key has the form of an agent's key (accounts/agents/keys.py), but begins with `wk_gate_`. A
gate key can only claim approvals (docs/gates.md).
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from accounts.access import key_texts
from accounts.agents import keys
from accounts.agents.quota import KeyEnded
from accounts.audit import Actor, record
from accounts.models import Agent, Gate, Team

KIND = "gate"
PREFIX = f"wk_{KIND}_"
KEY = key_texts.form_of(KIND)
MAX_USABLE = 25  # gates of one team
MAX_NAME = 80


class TooManyGates(Exception):
    """This team has 25 gate keys that work. Revoke one that is no longer needed, then try again."""


class NoAgents(Exception):
    """A gate key needs at least one agent of its team."""


@transaction.atomic
def issue(
    team: Team,
    *,
    name: str,
    agents: Collection[Agent],
    by: Actor,
    expires_at: datetime | None = None,
    at: datetime,
) -> tuple[Gate, str]:
    """Issues a gate key for these agents of the team; returns its row and its text, which cannot be
    shown again. Raises TooManyGates or NoAgents."""
    hold(team, agents=agents, at=at)
    text = key_texts.new_key(KIND)
    gate = Gate.objects.create(
        team=team,
        name=name,
        hint=key_texts.hint_of(text),
        digest=key_texts.digest_of(text),
        created_at=at,
        issued_by=by.name[:80],
        expires_at=expires_at,
    )
    gate.agents.set(agents)
    names = sorted(agent.agent_id for agent in agents)
    record("gate.issued", by=by, of=gate, team=team, at=at, hint=gate.hint, agents=names)
    return gate, text


def hold(team: Team, *, agents: Collection[Agent], at: datetime) -> None:
    """Locks the team, so that only one gate key at a time is issued. Checks that a key for these
    agents can be issued now. Raises TooManyGates or NoAgents."""
    Team.objects.select_for_update().get(pk=team.pk)
    if Gate.objects.usable(at).filter(team=team).count() >= MAX_USABLE:
        raise TooManyGates(TooManyGates.__doc__)
    if not agents or any(agent.team_id != team.pk for agent in agents):
        raise NoAgents(NoAgents.__doc__)


@transaction.atomic
def revoke(gate: Gate, *, by: Actor, at: datetime) -> None:
    """Revokes the key immediately and permanently. A second call changes nothing."""
    if Gate.objects.filter(pk=gate.pk, revoked_at__isnull=True).update(revoked_at=at):
        record("gate.revoked", by=by, of=gate, team=gate.team_id, at=at, hint=gate.hint)


def look_up(text: str) -> Gate | None:
    """Returns the gate with this key, even if the key has ended. Makes no query for a text whose
    checksum is wrong."""
    if not (KEY.fullmatch(text) and key_texts.is_whole(text)):
        return None
    return Gate.objects.filter(digest=key_texts.digest_of(text)).first()


def check_again(gate: Gate, *, at: datetime) -> None:
    """Raises KeyEnded if the key has ended since it was looked up."""
    if not Gate.objects.usable(at).filter(pk=gate.pk).exists():
        raise KeyEnded(KeyEnded.__doc__)


def touch(gate: Gate, *, at: datetime) -> None:
    """Stores the time of the last use of the key, at most once a minute."""
    earlier = Q(last_used_at__isnull=True) | Q(last_used_at__lt=at - keys.LAST_USED_EVERY)
    Gate.objects.filter(earlier, pk=gate.pk).update(last_used_at=at)
