"""Stores what agents deliver."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NotRequired, TypedDict, Unpack

from django.db import connection, transaction

from accounts.agents import keys, quota
from accounts.audit import agent_actor, event_of
from accounts.characters.look_alikes import nfc
from accounts.models import Agent, ApiKey, AuditEvent
from database import outages
from database.clock import microseconds
from database.compiled_queries import insert
from database.idempotency import REPLAY_WINDOW, Idempotency
from wake.assignment import assigning, matching, sharing
from wake.blobs import references
from wake.callbacks import allowlist
from wake.cursor import stamp_activity
from wake.models import Delivery, RuleVersion, one_statement
from wake.signals import notify_inbox


class AgentMismatch(Exception):
    """This key belongs to another agent id."""


class UnknownRevision(Exception):
    """There is no delivery of this agent with that id to supersede."""


class DeliveryFields(TypedDict):
    """Lists the fields of a delivery that an agent sends, in the protocol's order
    (docs/protocol.md, Deliver). The serializer has their limits, and `details_json` is the JSON
    text of `details`."""

    agent_id: str
    provider: str
    type: str
    headline: str
    summary: str
    details_json: NotRequired[str | None]
    callback_webhook: NotRequired[str]
    timeout_seconds: NotRequired[int | None]
    assumption: NotRequired[str]
    on_timeout: NotRequired[str]
    thread: NotRequired[str]
    supersedes: NotRequired[uuid.UUID | None]
    priority: NotRequired[str]
    quorum: NotRequired[int | None]
    irreversible: NotRequired[bool]
    extensions: NotRequired[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Delivered:
    """Holds the delivery, whether it was stored by an earlier request, and the key's remaining
    quota (None if no quota was spent). `must_wait` says that the agent has to wait for the answer,
    although it did not say so: a rule asks for it, or the delivery is irreversible."""

    delivery: Delivery
    replayed: bool = False
    allowance: quota.Allowance | None = None
    must_wait: bool = False


@dataclass(frozen=True, slots=True)
class Unsent:
    """Holds a delivery of a batch that is not stored yet."""

    fields: DeliveryFields
    idempotency: Idempotency | None


class BatchTooLarge(Exception):
    """A batch that is stored whole has more new deliveries than the key may deliver at once."""

    def __init__(self, new: int, burst: int) -> None:
        super().__init__(BatchTooLarge.__doc__)
        self.new, self.burst = new, burst


class NotTogether(Exception):
    """One delivery of a batch was refused, so none was stored."""

    def __init__(self, place: int, reason: Exception) -> None:
        super().__init__(NotTogether.__doc__)
        self.place, self.reason = place, reason


def deliver(
    agent: Agent,
    *,
    key: ApiKey | None = None,
    idempotency: Idempotency | None = None,
    address: str = "",
    is_internal: bool = False,
    at: datetime,
    **fields: Unpack[DeliveryFields],
) -> Delivered:
    """Stores the delivery. Raises AgentMismatch, IdempotencyConflict, allowlist.Refused,
    UnknownRevision, quota.AgentPaused, quota.QuotaSpent or quota.KeyEnded, and then nothing was
    stored or spent.

    Without a `key` no quota is spent; the key may be remembered (keys.remembered). `is_internal` is
    for an app of this server that takes the answer itself (signals.released); a paused agent does
    not stop it, so that nothing is lost.
    """
    if key:
        if delivered := _deliver_at_once(
            fields, key=key, idempotency=idempotency, address=address, at=at
        ):
            return delivered
        key = keys.look_up_again(key, at=at)
        agent = key.agent
    try:
        return _deliver(
            agent,
            fields,
            key=key,
            idempotency=idempotency,
            address=address,
            is_internal=is_internal,
            at=at,
        )
    except quota.QuotaSpent:
        if key:  # only now, because the transaction of the delivery is rolled back
            quota.record_refusal(key, address=address, at=at)
        raise


def deliver_together(
    deliveries: Sequence[Unsent], *, key: ApiKey, address: str = "", at: datetime
) -> list[Delivered]:
    """Stores all deliveries in one transaction, one unit of quota each. Raises NotTogether with the
    place and the exception of the delivery that was refused, and BatchTooLarge and KeyEnded; then
    nothing was stored or spent."""
    key = keys.look_up_again(key, at=at)
    delivered: list[Delivered] = []
    try:
        with transaction.atomic():
            for place, unsent in enumerate(deliveries):
                delivered.append(_one_of_all(place, unsent, key=key, address=address, at=at))
    except NotTogether as refusal:
        reason = refusal.reason
        if isinstance(reason, quota.QuotaSpent):
            # The rollback has returned the tokens. The retry has to wait until all new ones fit.
            new = _number_of_new(deliveries, key=key, at=at)
            if new > reason.allowance.limit:
                raise BatchTooLarge(new, reason.allowance.limit) from None
            quota.record_refusal(key, address=address, at=at)
            reason = quota.refusal(key, now_us=microseconds(at), tokens=new)
        if isinstance(reason, quota.KeyEnded) or outages.will_pass(reason):
            raise reason from None
        raise NotTogether(refusal.place, reason) from reason
    return delivered


def _number_of_new(deliveries: Sequence[Unsent], *, key: ApiKey, at: datetime) -> int:
    """Returns how many of the deliveries would not replay a stored one, or another of the batch."""
    names = {each.idempotency.key for each in deliveries if each.idempotency}
    stored = Delivery.objects.of_agent(key.agent, key.mode).filter(
        idempotency_key__in=names, created_at__gt=at - REPLAY_WINDOW
    )
    without_key = sum(each.idempotency is None for each in deliveries)
    return without_key + len(names) - (stored.count() if names else 0)


def _one_of_all(
    place: int, unsent: Unsent, *, key: ApiKey, address: str, at: datetime
) -> Delivered:
    try:
        return _deliver(
            key.agent,
            unsent.fields,
            key=key,
            idempotency=unsent.idempotency,
            address=address,
            is_internal=False,
            at=at,
        )
    except Exception as reason:
        raise NotTogether(place, reason) from reason


@transaction.atomic
def _deliver(
    agent: Agent,
    fields: DeliveryFields,
    *,
    key: ApiKey | None,
    idempotency: Idempotency | None,
    address: str,
    is_internal: bool,
    at: datetime,
) -> Delivered:
    if not agent.may_claim(fields["agent_id"]):
        raise AgentMismatch(AgentMismatch.__doc__)
    agent = copy(agent)  # other threads may read it, because keys are remembered
    mode = key.mode if key else ApiKey.Mode.LIVE
    created_at = stamp_activity(agent, at=at)  # the lock: agent, then key, then delivery
    if agent.paused_at is not None and not is_internal:
        raise quota.AgentPaused(quota.AgentPaused.__doc__)
    mine = Delivery.objects.of_agent(agent, mode)
    if idempotency and (earlier := idempotency.replay(mine, at=at)):
        return Delivered(earlier, replayed=True, must_wait=_was_made_to_wait(earlier, fields))
    if url := fields.get("callback_webhook"):
        allowlist.check(url, team_id=agent.team_id)
    allowance = quota.spend(key, now_us=microseconds(at)) if key else None
    delivery = _delivery(
        agent,
        fields,
        key=key,
        idempotency=idempotency,
        is_internal=is_internal,
        created_at=created_at,
    )
    if supersedes := fields.get("supersedes"):
        _supersede(delivery, earlier_id=supersedes, at=created_at)
    version = _apply_rule(delivery, agent, at=created_at)
    if version:
        assigning.assign(delivery, version)
    insert(delivery)
    if references.may_name_blobs(delivery.details_json):
        references.attach(delivery)
    insert(_received(delivery, version, address=address))
    notify_inbox([delivery])
    return Delivered(delivery, allowance=allowance, must_wait=_was_made_to_wait(delivery, fields))


def _deliver_at_once(
    fields: DeliveryFields,
    *,
    key: ApiKey,
    idempotency: Idempotency | None,
    address: str,
    at: datetime,
) -> Delivered | None:
    """Does what _deliver() does, in one statement on PostgreSQL. Returns None if anything is in the
    way, and then nothing was stored; _deliver() finds out what it is."""
    if connection.vendor != "postgresql" or fields.get("supersedes"):
        return None
    if references.may_name_blobs(fields.get("details_json")):
        return None
    if fields["agent_id"] != key.agent.agent_id:
        return None
    if url := fields.get("callback_webhook"):
        try:
            allowlist.check(url, team_id=key.agent.team_id)
        except allowlist.Refused:
            return None
    delivery = _delivery(key.agent, fields, key=key, idempotency=idempotency, created_at=at)
    version = _apply_rule(delivery, key.agent, at=at)
    if version:
        delivery.assignment_id = sharing.current_assignment(
            version, team_id=key.agent.team_id, at=at
        )
    event = _received(delivery, version, address=address)
    allowance = one_statement.store(delivery, event, key=key, at=at)
    if allowance is None:
        if version:
            sharing.forget(version)
        return None
    notify_inbox([delivery])
    return Delivered(delivery, allowance=allowance, must_wait=_was_made_to_wait(delivery, fields))


def _delivery(
    agent: Agent,
    fields: DeliveryFields,
    *,
    key: ApiKey | None,
    idempotency: Idempotency | None,
    is_internal: bool = False,
    created_at: datetime,
) -> Delivery:
    """Builds the row, without what it supersedes and what its rule asks for."""
    content: dict[str, Any] = {**fields}
    agent_id, _ = content.pop("agent_id"), content.pop("supersedes", None)
    if fields.get("irreversible") and not fields.get("on_timeout"):
        content["on_timeout"] = Delivery.OnTimeout.HOLD
    timeout = timedelta(seconds=fields.get("timeout_seconds") or 0)
    return Delivery(
        id=uuid.uuid4(),
        team_id=agent.team_id,
        agent=agent,
        key_hint=key.hint if key else "",
        mode=key.mode if key else ApiKey.Mode.LIVE,
        claimed_agent_id=nfc(agent_id),
        **content,
        is_internal=is_internal,
        idempotency_key=idempotency.key if idempotency else None,
        idempotency_hash=idempotency.fingerprint if idempotency else "",
        created_at=created_at,
        expires_at=created_at + timeout if timeout else None,
        activity_at=created_at,
    )


def _apply_rule(delivery: Delivery, agent: Agent, *, at: datetime) -> RuleVersion | None:
    """Applies the first rule that matches the unsaved delivery: it may raise the quorum and make
    the agent wait. Then computes the content hash. Returns the version of the rule."""
    version = matching.version_for(delivery, agent, at=at)
    assigning.raise_to(version, delivery)
    delivery.content_hash = _content_hash(delivery)
    return version


def _was_made_to_wait(delivery: Delivery, fields: DeliveryFields) -> bool:
    return delivery.on_timeout != fields.get("on_timeout", "")


def _received(delivery: Delivery, version: RuleVersion | None, *, address: str) -> AuditEvent:
    assigned = {"rule": str(version.rule_id), "rule_version": version.number} if version else {}
    return event_of(
        "delivery.received",
        by=agent_actor(delivery.agent, address),
        of=delivery,
        team_id=delivery.team_id,
        at=delivery.created_at,
        detail={
            "type": delivery.type,
            "key": delivery.key_hint,
            "content_hash": delivery.content_hash,
            **assigned,
        },
    )


def _content_hash(delivery: Delivery) -> str:
    """Returns the SHA-256 of everything that a person bases their answer on."""
    content = (
        delivery.type,
        delivery.headline,
        delivery.summary,
        delivery.details_json,
        delivery.assumption,
        delivery.on_timeout,
    )
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _supersede(delivery: Delivery, *, earlier_id: uuid.UUID, at: datetime) -> None:
    """Makes the unsaved `delivery` the next revision of an earlier one of the same agent and mode.

    The earlier one leaves the inbox but can still be opened and answered. Runs in the transaction
    of deliver(), which holds the agent's lock. Raises UnknownRevision.
    """
    mine = Delivery.objects.of_agent(delivery.agent, delivery.mode)
    earlier = (
        mine.filter(pk=earlier_id, is_internal=delivery.is_internal).only("pk", "thread").first()
    )
    if earlier is None:
        raise UnknownRevision(UnknownRevision.__doc__)
    delivery.supersedes = earlier
    delivery.thread = delivery.thread or earlier.thread or str(earlier.pk)
    Delivery.objects.filter(pk=earlier.pk, superseded_at__isnull=True).update(superseded_at=at)
