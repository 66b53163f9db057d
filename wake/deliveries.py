"""Takes in what agents deliver."""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts import quota
from accounts.audit import agent_actor, record
from accounts.models import Agent, ApiKey
from accounts.prepared import insert
from wake import destinations, signals, threads
from wake.cursor import microseconds, stamp_activity
from wake.models import Delivery

REPLAY_WINDOW = timedelta(hours=24)


class AgentMismatch(Exception):
    """This key belongs to another agent id."""


class AgentPaused(Exception):
    """A person has paused this agent's deliveries."""


class IdempotencyConflict(Exception):
    """This Idempotency-Key was used with another body in the last 24 hours."""


@dataclass(frozen=True, slots=True)
class Idempotency:
    """A client's key and the fingerprint of the parsed body that came with it."""

    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Delivered:
    """The row, whether it was there already, and what the key may still do (None where none was
    spent)."""

    delivery: Delivery
    replayed: bool = False
    allowance: quota.Allowance | None = None


@transaction.atomic
def deliver(
    agent: Agent,
    *,
    agent_id: str,
    provider: str,
    type: str,
    headline: str,
    summary: str,
    details_json: str | None = None,
    callback_webhook: str = "",
    timeout_seconds: int | None = None,
    assumption: str = "",
    on_timeout: str = "",
    thread: str = "",
    supersedes: uuid.UUID | None = None,
    extensions: dict[str, Any] | None = None,
    relayed: bool = False,
    key: ApiKey | None = None,
    idempotency: Idempotency | None = None,
    address: str = "",
    at: datetime | None = None,
) -> Delivered:
    """Stores the delivery; raises AgentMismatch, AgentPaused, IdempotencyConflict,
    destinations.Refused, threads.UnknownRevision, quota.QuotaSpent or quota.KeyEnded, and then
    nothing was stored or spent.

    `details_json` is the JSON text of an object, a string or null, as the agent sent it. Without a
    `key` (the relay) no quota is spent.
    """
    if not agent.may_claim(agent_id):
        raise AgentMismatch(AgentMismatch.__doc__)
    # A pause starts no run of a task (relay/dispatches.py); what one still says is not lost.
    if agent.paused_at is not None and not relayed:
        raise AgentPaused(AgentPaused.__doc__)
    at = at or timezone.now()
    lane = key.lane if key else ApiKey.Lane.LIVE
    created_at = stamp_activity(agent, at=at)  # the lock: agent, then key, then delivery
    if idempotency and (earlier := _replay(agent, lane, idempotency, at=at)):
        return Delivered(earlier, replayed=True)
    if callback_webhook:
        destinations.check(callback_webhook, team_id=agent.team_id)
    allowance = quota.spend(key, now_us=microseconds(at)) if key else None
    delivery = Delivery(
        id=uuid.uuid4(),
        team_id=agent.team_id,
        agent=agent,
        key_hint=key.hint if key else "",
        lane=lane,
        claimed_agent_id=agent_id,
        provider=provider,
        type=type,
        headline=headline,
        summary=summary,
        details_json=details_json,
        callback_webhook=callback_webhook,
        timeout_seconds=timeout_seconds,
        assumption=assumption,
        on_timeout=on_timeout,
        thread=thread,
        relayed=relayed,
        extensions=extensions or {},
        content_hash=_content_hash(type, headline, summary, details_json, assumption, on_timeout),
        idempotency_key=idempotency.key if idempotency else None,
        idempotency_hash=idempotency.fingerprint if idempotency else "",
        created_at=created_at,
        expires_at=created_at + timedelta(seconds=timeout_seconds) if timeout_seconds else None,
        activity_at=created_at,
    )
    if supersedes:
        threads.supersede(delivery, earlier_id=supersedes, at=created_at)
    insert(delivery)
    record(
        "delivery.received",
        by=agent_actor(agent, address),
        of=delivery,
        team=agent.team_id,
        at=created_at,
        type=type,
        key=delivery.key_hint,
        content_hash=delivery.content_hash,
    )
    signals.delivered.send(sender=Delivery, delivery=delivery)
    return Delivered(delivery, allowance=allowance)


def _replay(agent: Agent, lane: str, idempotency: Idempotency, *, at: datetime) -> Delivery | None:
    """The delivery that this key made within the window; an older one gives the key free."""
    earlier = Delivery.objects.of_agent(agent, lane).filter(idempotency_key=idempotency.key).first()
    if earlier is None:
        return None
    if earlier.created_at <= at - REPLAY_WINDOW:
        earlier.idempotency_key = None
        earlier.save(update_fields=["idempotency_key"])
        return None
    if earlier.idempotency_hash != idempotency.fingerprint:
        raise IdempotencyConflict(IdempotencyConflict.__doc__)
    return earlier


def _content_hash(*shown: str | None) -> str:
    """SHA-256 of everything that a person decides upon."""
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()
