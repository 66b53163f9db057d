"""Stores the outcomes that agents report about their deliveries (docs/protocol.md, Outcome)."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.agents import keys
from accounts.audit import Actor, agent_actor, event_of
from accounts.models import ApiKey, AuditEvent
from database.compiled_queries import CompiledQuery, parameter
from database.idempotency import Idempotency
from wake import signals
from wake.models import Delivery, Failure, Outcome, Response, picking_up
from wake.models.picking_up import reporting

MAX_OUTCOMES = 20


class TooManyOutcomes(Exception):
    """A delivery has at most 20 outcomes."""


class DeliveryErased(Exception):
    """The content of this delivery was erased, so it takes no outcome."""


@transaction.atomic
def report(
    key: ApiKey,
    delivery_id: UUID,
    *,
    status: str,
    summary: str = "",
    details_json: str | None = None,
    idempotency: Idempotency | None = None,
    address: str = "",
    at: datetime,
) -> tuple[Outcome, bool] | None:
    """Stores an outcome of a delivery that the key's agent sent in the key's mode. Returns None if
    there is no such delivery. Otherwise returns the outcome, and whether an earlier request with
    the same Idempotency-Key has stored it. From now on a released answer cannot be taken back.

    Raises TooManyOutcomes, DeliveryErased, IdempotencyConflict or KeyEnded.
    """
    delivery = _locked(key, delivery_id, at=at)
    if delivery is None:
        keys.check_again(key, at=at)
        return None
    outcomes = Outcome.objects.filter(delivery=delivery)
    if idempotency and (earlier := idempotency.replay(outcomes, at=at)):
        return earlier, True
    if delivery.erased_at is not None:
        raise DeliveryErased(DeliveryErased.__doc__)
    outcome = Outcome(
        delivery=delivery,
        status=status,
        summary=summary,
        details_json=details_json,
        reported_at=at,
        key_hint=key.hint,
        idempotency_key=idempotency.key if idempotency else None,
        idempotency_hash=idempotency.fingerprint if idempotency else "",
    )
    by = agent_actor(key.agent, address)
    route = Response.Route.OUTCOME
    pickup = picking_up.event_of_pickup(route, at=at, key=key.hint)
    _store(outcome, pickup, by=by, most=MAX_OUTCOMES, route=route)
    return outcome, False


@transaction.atomic
def store(outcome: Outcome, *, by: Actor) -> None:
    """Stores the outcome of work that ended by itself, and records it in the audit. The caller has
    locked the delivery, which must not be erased."""
    _store(outcome, by=by)


def _store(
    outcome: Outcome, *pickup: AuditEvent, by: Actor, most: int | None = None, **values: Any
) -> None:
    """Raises TooManyOutcomes if the delivery has `most` outcomes already."""
    delivery, at = outcome.delivery, outcome.reported_at
    event = event_of(
        "delivery.outcome",
        by=by,
        of=delivery,
        team_id=delivery.team_id,
        at=at,
        detail={"status": outcome.status, "key": outcome.key_hint},
    )
    chain = reporting(most=most)
    stored = chain.store(*pickup, outcome, event, delivery=delivery.pk, at=at, **values)
    if stored.failed:
        raise TooManyOutcomes(TooManyOutcomes.__doc__)
    if outcome.status == Outcome.Status.FAILED or not stored.columns["delivery", "never_failed"]:
        _record_failure(outcome)
    signals.notify_inbox([delivery])


def _locked(key: ApiKey, delivery_id: UUID, *, at: datetime) -> Delivery | None:
    """Locks a delivery of the key's agent, and returns it. Returns None if the key has ended, or if
    there is no such delivery. The lock is a statement of its own, so that the next statement sees
    rows that others stored while this one waited for the lock."""
    values = {"agent": key.agent_id, "mode": key.mode, "key": key.pk, "pk": delivery_id, "at": at}
    found = _of_key().objects(**values)
    return found[0] if found else None


@cache
def _of_key() -> CompiledQuery:
    mine = Delivery.objects.of_agent(
        parameter("agent", Delivery, "agent"), parameter("mode", Delivery, "mode")
    )
    usable = keys.is_usable_now(
        parameter("key", ApiKey, "id"), parameter("at", ApiKey, "expires_at")
    )
    rows = mine.filter(usable, pk=parameter("pk", Delivery, "id"), is_internal=False)
    rows = rows.only("team", "status", "erased_at").select_for_update(of=("self",))
    return CompiledQuery(lambda: rows)


def _record_failure(outcome: Outcome) -> None:
    """Lists an approved delivery in the inbox again if the outcome is a failure. Any other outcome
    ends an earlier failure, because the agent has tried again, for example."""
    delivery = outcome.delivery
    if delivery.status not in Delivery.USABLE:
        return
    if outcome.status != Outcome.Status.FAILED:
        Failure.objects.filter(delivery=delivery).delete()
        return
    at = outcome.reported_at
    news = {"outcome": outcome, "failed_at": at, "acknowledged_at": None, "acknowledged_by": ""}
    failure, _ = Failure.objects.update_or_create(
        delivery=delivery, defaults={"team_id": delivery.team_id, **news}
    )
    signals.failed.send(sender=Failure, delivery=delivery, failure=failure, at=at)
