"""Lets an agent, or a service that acts for the agent, use an approval once (docs/protocol.md,
Claim)."""

from __future__ import annotations

import secrets
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from uuid import UUID

import msgspec
from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.expressions import RawSQL

from accounts.agents import gates, keys
from accounts.agents.quota import AgentPaused
from accounts.audit import Actor, agent_actor, event_of
from accounts.models import ApiKey, Gate
from database import outages
from database.compiled_queries import CompiledQuery, parameter
from wake import wire
from wake.models import (
    Claim,
    Delivery,
    DeliveryQuerySet,
    Receipt,
    Response,
    claimable_until,
    picking_up,
)
from wake.models.picking_up import claiming, locking_claimant
from wake.proof import log_proofs, receipts
from wake.responses import release_due_of
from wake.signals import notify_inbox

# The status of a refusal if people decided about a newer version instead (docs/protocol.md, Claim).
SUPERSEDED = "superseded"
# A claim is checked again if the answer changes meanwhile. After one change, the result is usually
# certain.
MAX_READS = 5
COLUMNS = (
    *("agent__agent_id", "agent__paused_at", "status", "content_hash", "claim_within_seconds"),
    *("team", "answered_at", "superseded_at", "response__status", "response__release_at"),
    *("response__delivery", "response__responded_at", "response__picked_up_at", "response__claim"),
)
NEWER = """
    WITH RECURSIVE newer (id) AS (
        SELECT id FROM wake_delivery WHERE supersedes_id = %s
        UNION ALL
        SELECT later.id
          FROM wake_delivery AS later JOIN newer ON later.supersedes_id = newer.id
    )
    SELECT id FROM newer
"""


class AlreadyClaimed(Exception):
    """This approval was used before."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(AlreadyClaimed.__doc__)
        self.claim = claim


class NotApproved(Exception):
    """Nothing is approved here."""

    def __init__(self, status: str) -> None:
        super().__init__(NotApproved.__doc__)
        self.status = status


class DigestMismatch(Exception):
    """The digest is not that of the delivery that was approved."""


class ApprovalExpired(Exception):
    """This approval was not used within the time that the delivery allows."""

    def __init__(self, claimable_until: datetime) -> None:
        super().__init__(ApprovalExpired.__doc__)
        self.claimable_until = claimable_until


class NoProofYet(Exception):
    """The receipt was made, and no checkpoint of the log covers it yet."""


class NoAnswerYet(Exception):
    """There is no answer to this delivery yet, or none that this key may use, so no receipt."""


@dataclass(frozen=True, slots=True)
class Claimant:
    """Identifies who claims: an agent by its key, or a gate."""

    key: ApiKey | None = None
    gate: Gate | None = None
    address: str = ""

    @property
    def pk(self) -> UUID:
        """Returns the primary key of the key that the claimant used."""
        holder = self.key or self.gate
        assert holder  # noqa: S101 - for the type checker: a claimant has one of the two
        return holder.pk

    def check_again(self, *, at: datetime) -> None:
        """Raises KeyEnded if the key was revoked or has expired since the request began."""
        if self.key:
            keys.check_again(self.key, at=at)
        if self.gate:
            gates.check_again(self.gate, at=at)

    @property
    def usable(self) -> set[str]:
        """Returns the statuses that the claimant may use. A gate may not use a redirected delivery:
        it cannot read the change, and the digest belongs to the action before the change."""
        approved = {str(Delivery.Status.APPROVED)}
        return approved | {str(Delivery.Status.REDIRECTED)} if self.key else approved

    def actor(self, delivery: Delivery) -> Actor:
        if self.gate:
            return Actor("gate", str(self.gate.pk), self.gate.name, self.address)
        return agent_actor(delivery.agent, self.address)

    @property
    def hint(self) -> str:
        holder = self.key or self.gate
        return holder.hint if holder else ""


def read(claimant: Claimant, delivery_id: UUID, *, at: datetime) -> wire.ClaimStatus | None:
    """Returns the status of a delivery and the time of its claim, if any. Returns None if the
    claimant has no such delivery."""
    delivery = _found(claimant, delivery_id, at=at)
    if delivery is None:
        return None
    response: Response | None = getattr(delivery, "response", None)
    claim: Claim | None = getattr(response, "claim", None)
    ends_at = claimable_until(delivery, response) if response else None
    is_usable = delivery.status in Delivery.USABLE and claim is None
    is_superseded = is_usable and _was_decided_in_a_newer_version(delivery)
    return wire.ClaimStatus(
        delivery_id=delivery.pk,
        status=SUPERSEDED if is_superseded else delivery.status,  # type: ignore[arg-type]
        digest=delivery.content_hash,
        claimed_at=claim.claimed_at if claim else None,
        claimable_until=ends_at or msgspec.UNSET,
    )


def claim(
    claimant: Claimant,
    delivery_id: UUID,
    *,
    digest: str,
    idempotency_key: str = "",
    at: datetime,
) -> tuple[Claim, bool] | None:
    """Uses the approval of a delivery. Returns the claim, and whether an earlier request with the
    same Idempotency-Key made it. Returns None if the claimant has no such delivery. A used approval
    cannot be taken back.

    Raises AlreadyClaimed, NotApproved, DigestMismatch, ApprovalExpired, AgentPaused or KeyEnded,
    and then does not use the approval.
    """
    for _ in range(MAX_READS):
        delivery = _found(claimant, delivery_id, at=at)
        if delivery is None:
            claimant.check_again(at=at)
            return None
        response: Response | None = getattr(delivery, "response", None)
        earlier: Claim | None = getattr(response, "claim", None)
        if earlier:
            if _is_repeated(earlier, delivery, claimant, digest, idempotency_key):
                return earlier, True
            raise AlreadyClaimed(earlier)
        if delivery.agent.paused_at is not None:
            raise AgentPaused(AgentPaused.__doc__)
        if response is None or delivery.status not in claimant.usable:
            raise NotApproved(delivery.status)
        if not secrets.compare_digest(digest, delivery.content_hash):
            raise DigestMismatch(DigestMismatch.__doc__)
        ends_at = claimable_until(delivery, response)
        if ends_at is not None and at > ends_at:
            raise ApprovalExpired(ends_at)
        made = _claim(claimant, response, idempotency_key=idempotency_key, at=at)
        if _store(made, claimant, delivery, at=at):
            notify_inbox([delivery])
            return made, False
    raise outages.Contended


def confirmation_of(claim: Claim) -> wire.Claim:
    """Returns the answer to the request that made the claim."""
    response = claim.response
    return wire.Claim(
        delivery_id=response.delivery_id,
        status=response.status,  # type: ignore[arg-type]
        claimed_at=claim.claimed_at,
        claim_id=claim.pk,
        claimable_until=claimable_until(response.delivery, response) or msgspec.UNSET,
    )


def receipt(
    claimant: Claimant, delivery_id: UUID, *, wants_proof: bool = False, at: datetime
) -> str | None:
    """Returns the signed receipt of the answer, with the disclosures that the claimant may see.
    Returns None if the claimant has no such delivery. Marks the answer as picked up, because an
    answer with a receipt must not be taken back. A gate gets receipts only of answers that it may
    use. With `wants_proof`, returns the file with the receipt and its proof. Raises NoAnswerYet,
    NoProofYet, DamagedLog, KeyEnded or Unreadable."""
    delivery = _found(claimant, delivery_id, at=at)
    if delivery is None:
        claimant.check_again(at=at)
        return None
    is_for_gate = claimant.gate is not None
    if is_for_gate and delivery.status not in claimant.usable:
        raise NoAnswerYet(NoAnswerYet.__doc__)
    issued = receipts.stored_receipt(delivery) or _issue(claimant, delivery_id, at=at)
    text = receipts.for_gate(issued) if is_for_gate else receipts.for_agent(issued)
    if not wants_proof:
        return text
    if proof := log_proofs.with_proof(issued, text):
        return proof
    raise NoProofYet(NoProofYet.__doc__)


@transaction.atomic
def _issue(claimant: Claimant, delivery_id: UUID, *, at: datetime) -> Receipt:
    claimant.check_again(at=at)
    delivery = Delivery.objects.select_for_update(of=("self",)).get(pk=delivery_id)
    response = receipts.released(delivery)
    is_for_gate = claimant.gate is not None
    if response is None or (is_for_gate and delivery.status not in claimant.usable):
        raise NoAnswerYet(NoAnswerYet.__doc__)
    route = Response.Route.RECEIPT
    picking_up.mark_picked_up([response.pk], route=route, at=at, key=claimant.hint)
    return receipts.receipt_of(response, at=at)


def _found(claimant: Claimant, delivery_id: UUID, *, at: datetime) -> Delivery | None:
    """Returns the delivery with its agent, its answer and the claim, all in one query. If the hold
    of the answer is over, releases the answer first. Returns None if the key has ended, or if the
    claimant has no such delivery."""
    delivery = _read(claimant, delivery_id, at=at)
    response: Response | None = getattr(delivery, "response", None)
    if delivery and response and response.is_due(at):
        release_due_of(delivery.agent_id, at=at)
        delivery = _read(claimant, delivery_id, at=at)
    return delivery


def _read(claimant: Claimant, delivery_id: UUID, *, at: datetime) -> Delivery | None:
    values = {"pk": delivery_id, "key": claimant.pk, "at": at}
    if claimant.key:
        values |= {"agent": claimant.key.agent_id, "mode": claimant.key.mode}
    found = (_of_key() if claimant.key else _of_gate()).objects(**values)
    return found[0] if found else None


@cache
def _of_key() -> CompiledQuery:
    mine = Delivery.objects.of_agent(
        parameter("agent", Delivery, "agent"), parameter("mode", Delivery, "mode")
    )
    usable = keys.is_usable_now(
        parameter("key", ApiKey, "id"), parameter("at", ApiKey, "expires_at")
    )
    return CompiledQuery(lambda: _with_answer(mine.filter(usable)))


@cache
def _of_gate() -> CompiledQuery:
    """A gate never claims the approvals of test deliveries."""
    gates = Gate.objects.usable(parameter("at", Gate, "expires_at"))
    mine = gates.filter(pk=parameter("key", Gate, "id"), agents=OuterRef("agent"))
    live = Delivery.objects.filter(Exists(mine), mode=ApiKey.Mode.LIVE)
    return CompiledQuery(lambda: _with_answer(live))


def _with_answer(rows: DeliveryQuerySet) -> DeliveryQuerySet:
    rows = rows.filter(pk=parameter("pk", Delivery, "id"), is_internal=False)
    return rows.select_related("agent", "response__claim").only(*COLUMNS)


def _newer_versions(delivery: Delivery) -> DeliveryQuerySet:
    """Returns the deliveries that replace this one, directly or in further steps. Index: the index
    of `supersedes`."""
    pk = delivery.pk if connection.vendor == "postgresql" else delivery.pk.hex
    return Delivery.objects.filter(pk__in=RawSQL(NEWER, (pk,)))  # noqa: S611 - no words of theirs


def _lock_all_versions_from(delivery: Delivery) -> None:
    """Locks the delivery and its newer versions, so that none of them is answered during the claim.
    An answer locks only one delivery, and several deliveries are always locked in the order of
    their primary keys. So a claim and an answer cannot wait for each other."""
    versions = _newer_versions(delivery) | Delivery.objects.filter(pk=delivery.pk)
    list(versions.order_by("pk").select_for_update(of=("self",)).values_list("pk"))


def _was_decided_in_a_newer_version(delivery: Delivery) -> bool:
    """Returns whether a newer version allows an action instead, or was answered later. If people
    reject a newer version first, and then approve this one, their last answer counts."""
    if delivery.superseded_at is None:
        return False
    allowed = Q(response__status__in=Delivery.USABLE)
    return (
        _newer_versions(delivery)
        .filter(allowed | Q(answered_at__gte=delivery.answered_at))
        .exists()
    )


def _is_repeated(
    earlier: Claim, delivery: Delivery, claimant: Claimant, digest: str, idempotency_key: str
) -> bool:
    """Returns whether the request repeats the one that made the claim."""
    same_key = bool(idempotency_key) and earlier.idempotency_key == idempotency_key
    same_claimant = earlier.key_hint == claimant.hint
    return same_key and same_claimant and digest == delivery.content_hash


def _claim(claimant: Claimant, response: Response, *, idempotency_key: str, at: datetime) -> Claim:
    """Builds the claim."""
    return Claim(
        response=response,
        claimed_at=at,
        key_hint=claimant.hint,
        gate=claimant.gate,
        gate_name=claimant.gate.name if claimant.gate else "",
        idempotency_key=idempotency_key,
    )


def _store(claim: Claim, claimant: Claimant, delivery: Delivery, *, at: datetime) -> bool:
    """Stores the claim with its audit event. Returns False if the delivery, its answer or the key
    has changed since they were read; then nothing was stored. Raises NotApproved if people decided
    about a newer version. An agent that claims an approval must know the answer, so the answer
    counts as picked up."""
    event = event_of(
        "response.claimed",
        by=claimant.actor(delivery),
        of=delivery,
        team_id=delivery.team_id,
        at=at,
        detail={
            "claim": str(claim.pk),
            "key": claimant.hint,
            "content_hash": delivery.content_hash,
        },
    )
    route = Response.Route.CLAIM
    pickup = picking_up.event_of_pickup(route, at=at, key=claimant.hint)
    by_gate = claimant.gate is not None
    locked = {"agent": delivery.agent_id, "key": claimant.pk, "at": at}
    is_alone = delivery.superseded_at is None
    try:
        with nullcontext() if is_alone else transaction.atomic():
            if not is_alone:
                locking_claimant(by_gate=by_gate).store(**locked)  # before any delivery
                _lock_all_versions_from(delivery)
                if Claim.objects.filter(response=claim.response_id).exists():
                    return False
                if _was_decided_in_a_newer_version(delivery):
                    raise NotApproved(SUPERSEDED)
            stored = claiming(by_gate=by_gate).store(
                *(pickup, claim, event),
                **locked,
                delivery=delivery.pk,
                status=delivery.status,
                superseded_at=delivery.superseded_at,
                response=claim.response_id,
                route=route,
            )
    except IntegrityError:
        if connection.in_atomic_block:
            raise
        return False  # another request has claimed the approval at this moment
    return not stored.failed
