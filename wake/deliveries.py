"""Stores what agents deliver."""

from __future__ import annotations

import uuid
from collections.abc import Set
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NotRequired, TypedDict, Unpack

from django.db import IntegrityError, connection, transaction

from accounts.agents import keys, quota
from accounts.audit import agent_actor, event_of
from accounts.models import Agent, ApiKey, AuditEvent
from database import outages
from database.idempotency import Idempotency
from database.write_chains import Stored
from pages.characters.look_alikes import nfc
from wake.assignment import assigning, matching, sharing
from wake.blobs import references
from wake.callbacks import allowlist
from wake.models import Delivery, RuleVersion
from wake.models.delivering import delivering, values_of
from wake.proof.digest import content_digest, new_nonce
from wake.signals import notify_inbox

# A delivery is built again if a rule or key changes meanwhile; people may make several changes.
MAX_READS = 20


class AgentMismatch(Exception):
    """This key belongs to another agent id."""


class UnknownRevision(Exception):
    """There is no delivery of this agent with that id to supersede."""


class DeliveryFields(TypedDict):
    """Lists the fields of a delivery that an agent sends, in the protocol's order
    (docs/protocol.md, Deliver). The serializer defines their limits. `details_json` is the JSON
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
    claim_within_seconds: NotRequired[int | None]
    digest: NotRequired[bool]
    receipt: NotRequired[bool]
    extensions: NotRequired[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Delivered:
    """Holds the delivery, whether an earlier request stored it, and the key's remaining quota (None
    if no quota was spent). `must_wait` is True if the agent has to wait for the answer although the
    agent did not say so. The reason is a rule, or that the delivery is irreversible."""

    delivery: Delivery
    replayed: bool = False
    allowance: quota.Allowance | None = None
    must_wait: bool = False


@dataclass(frozen=True, slots=True)
class Sender:
    """Holds the sender in the state that this process has read. Agent and key may have changed
    since."""

    agent: Agent
    key: ApiKey | None
    address: str = ""
    traceparent: str = ""
    is_internal: bool = False
    is_locked: bool = False  # True if the transaction around this delivery has locked the agent

    @property
    def mode(self) -> str:
        return self.key.mode if self.key else ApiKey.Mode.LIVE

    @property
    def shares_assignments(self) -> bool:
        """Returns whether the sender's deliveries may share an assignment. Making a shared
        assignment locks the team, and no transaction may lock a team after an agent."""
        return connection.vendor == "postgresql" and not (self.is_locked or self.is_internal)


def deliver(
    agent: Agent,
    *,
    key: ApiKey | None = None,
    idempotency: Idempotency | None = None,
    address: str = "",
    traceparent: str = "",
    is_internal: bool = False,
    at: datetime,
    **fields: Unpack[DeliveryFields],
) -> Delivered:
    """Stores the delivery. Raises AgentMismatch, IdempotencyConflict, allowlist.AddressRefused,
    UnknownRevision, quota.AgentPaused, quota.QuotaSpent or quota.KeyEnded; nothing was stored or
    spent then.

    Without a `key` no quota is spent. The key may be one that this process remembers
    (keys.remembered). `is_internal` is True if an app of this server takes the answer itself
    (signals.released). Such a delivery is stored even if the agent is paused, so that nothing is
    lost.
    """
    try:
        return deliver_as(
            Sender(agent, key, address, traceparent, is_internal=is_internal),
            fields,
            idempotency=idempotency,
            at=at,
        )
    except quota.QuotaSpent:
        if key:  # after the transaction of the delivery was rolled back
            quota.record_refusal(key, address=address, at=at)
        raise


def deliver_as(
    sender: Sender, fields: DeliveryFields, *, idempotency: Idempotency | None, at: datetime
) -> Delivered:
    """Builds the rows from the remembered sender, and stores them if the sender has not changed.
    Otherwise reads the sender again, because the change affects how the rows are built."""
    for _ in range(MAX_READS):
        delivery = _delivery(sender, fields, idempotency=idempotency, created_at=at)
        refusal = _refusal(delivery, sender, fields)
        version = _apply_rule(delivery, sender.agent, at=at)
        try:
            stored = _store(delivery, version, sender, may_deliver=refusal is None, at=at)
        except IntegrityError:
            if idempotency is None or connection.in_atomic_block:
                raise
            continue  # another request with the same Idempotency-Key was first
        must_wait = _was_made_to_wait(delivery, fields)
        if not stored.failed:
            notify_inbox([delivery])
            allowance = quota.allowance_in(stored, sender.key, at=at)
            return Delivered(delivery, allowance=allowance, must_wait=must_wait)
        _raise_reason(stored.failed, refusal, quota.refusal_in(stored, sender.key, at=at))
        if "agent_as_read" in stored.failed:
            sender = _read_again(sender, at=at)
        elif idempotency and "first_use" in stored.failed:
            if earlier := _replayed(sender, idempotency, at=at):
                must_wait = _was_made_to_wait(earlier, fields)
                return Delivered(earlier, replayed=True, must_wait=must_wait)
        elif version:  # the people of the assignment have changed
            sharing.forget(version)
    raise outages.Contended


def _raise_reason(
    failed: Set[str], refusal: Exception | None, key_refusal: Exception | None
) -> None:
    """Raises the first reason why nothing was stored, in the order in which agents get the reasons.
    Raises nothing if the sender has changed, or if the Idempotency-Key was used meanwhile. In these
    cases the caller tries again."""
    if isinstance(key_refusal, quota.KeyEnded):
        raise key_refusal
    if "agent_as_read" in failed:
        return
    if isinstance(refusal, AgentMismatch):
        raise refusal
    if "agent_runs" in failed:
        raise quota.AgentPaused(quota.AgentPaused.__doc__)
    if "first_use" in failed:
        return
    if isinstance(refusal, allowlist.AddressRefused):
        raise refusal
    if reason := key_refusal or refusal:
        raise reason


def _refusal(
    delivery: Delivery, sender: Sender, fields: DeliveryFields
) -> AgentMismatch | allowlist.AddressRefused | UnknownRevision | None:
    """Returns why the delivery cannot be stored, as far as its own fields show. If it supersedes
    another delivery, gives it the next revision number of that delivery's thread."""
    if not sender.agent.may_claim(fields["agent_id"]):
        return AgentMismatch(AgentMismatch.__doc__)
    if url := fields.get("callback_webhook"):
        try:
            allowlist.check(url, team_id=sender.agent.team_id)
        except allowlist.AddressRefused as refusal:
            return refusal
    if earlier_id := fields.get("supersedes"):
        mine = Delivery.objects.of_agent(sender.agent, sender.mode)
        mine = mine.filter(pk=earlier_id, is_internal=sender.is_internal)
        earlier = mine.only("pk", "thread").first()
        if earlier is None:
            return UnknownRevision(UnknownRevision.__doc__)
        delivery.supersedes = earlier
        delivery.thread = delivery.thread or earlier.thread or str(earlier.pk)
    return None


def _store(
    delivery: Delivery,
    version: RuleVersion | None,
    sender: Sender,
    *,
    may_deliver: bool,
    at: datetime,
) -> Stored:
    """Stores the delivery with its audit event and its rows in other tables."""
    agent, key = sender.agent, sender.key
    is_shared = version is not None and sender.shares_assignments
    if version:
        delivery.assignment_id = (
            sharing.current_assignment(version, team_id=delivery.team_id, at=at)
            if is_shared
            else delivery.pk
        )
    chain = delivering(
        with_key=key is not None, is_internal=sender.is_internal, is_assigned=is_shared
    )
    event = _received(delivery, version, address=sender.address)
    values = values_of(agent, delivery) | quota.values_of(key, at=at)
    names_blobs = references.may_name_blobs(delivery.details_json)
    is_alone = not (names_blobs or delivery.supersedes_id or (version and not is_shared))
    with nullcontext() if is_alone else transaction.atomic(savepoint=False):
        stored = chain.store(delivery, event, **values, may_deliver=may_deliver)
        if is_alone or stored.failed:
            return stored
        if version and not is_shared:
            assigning.assign(delivery, version)
        if names_blobs:
            references.attach(delivery)
        # The superseded delivery leaves the inbox, but can still be opened and answered.
        if delivery.supersedes_id:
            earlier = Delivery.objects.filter(pk=delivery.supersedes_id, superseded_at__isnull=True)
            earlier.update(superseded_at=delivery.created_at)
    return stored


def _read_again(sender: Sender, *, at: datetime) -> Sender:
    """Returns the sender as it is stored now. Raises KeyEnded."""
    if sender.key is None:
        return replace(sender, agent=Agent.objects.get(pk=sender.agent.pk))
    key = keys.look_up_again(sender.key, at=at)
    return replace(sender, agent=key.agent, key=key)


@transaction.atomic
def _replayed(sender: Sender, idempotency: Idempotency, *, at: datetime) -> Delivery | None:
    lock(sender.agent)
    return idempotency.replay(Delivery.objects.of_agent(sender.agent, sender.mode), at=at)


def lock(agent: Agent) -> None:
    Agent.objects.select_for_update(no_key=True).only("pk").get(pk=agent.pk)


def _delivery(
    sender: Sender,
    fields: DeliveryFields,
    *,
    idempotency: Idempotency | None,
    created_at: datetime,
) -> Delivery:
    """Builds the row, without the delivery that it supersedes and without the demands of its
    rule."""
    content: dict[str, Any] = {**fields}
    agent_id, _ = content.pop("agent_id"), content.pop("supersedes", None)
    wants_digest = bool(content.pop("digest", False))
    wants_receipt = bool(content.pop("receipt", False))
    if fields.get("irreversible") and not fields.get("on_timeout"):
        content["on_timeout"] = Delivery.OnTimeout.HOLD
    timeout = timedelta(seconds=fields.get("timeout_seconds") or 0)
    return Delivery(
        id=uuid.uuid4(),
        team_id=sender.agent.team_id,
        agent=sender.agent,
        key_hint=sender.key.hint if sender.key else "",
        mode=sender.mode,
        claimed_agent_id=nfc(agent_id),
        **content,
        nonce=new_nonce(),
        wants_digest=wants_digest,
        wants_receipt=wants_receipt,
        is_internal=sender.is_internal,
        traceparent=sender.traceparent or None,
        idempotency_key=idempotency.key if idempotency else None,
        idempotency_hash=idempotency.fingerprint if idempotency else "",
        created_at=created_at,
        expires_at=created_at + timeout if timeout else None,
        activity_at=created_at,
    )


def _apply_rule(delivery: Delivery, agent: Agent, *, at: datetime) -> RuleVersion | None:
    """Applies the first rule that matches the unsaved delivery. The rule may raise the quorum, make
    the agent wait, and limit the time for a claim. Then computes the digest of the delivery.
    Returns the version of the rule."""
    version = matching.version_for(delivery, agent, at=at)
    assigning.raise_to(version, delivery)
    delivery.content_hash = content_digest(delivery, files=references.digests_of(delivery))
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
