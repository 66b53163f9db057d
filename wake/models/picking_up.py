"""Defines the writes that pick up an answer: alone, with a claim, or with an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Coalesce

from accounts.audit import SYSTEM, event_of
from accounts.models import Agent, ApiKey, AuditEvent, Gate
from accounts.models.agents import is_usable
from database.compiled_queries import list_parameter, parameter
from database.write_chains import Chain, Change, Given, GivenMember, GivenText, Lock, New, Step
from wake.models.claims import Claim, Failure, Outcome
from wake.models.deliveries import Delivery
from wake.models.responses import Response, ResponseQuerySet

EVENT = "response.picked_up"
ANY_DELIVERY = Delivery()


def mark_picked_up(response_ids: Sequence[UUID], *, route: str, at: datetime, **detail: Any) -> int:
    """Marks the released answers among `response_ids` that were not picked up before, and returns
    how many. None of these answers can be taken back any more. Call it in a transaction. The
    answers are locked in the order of their ids, and each gets its audit event."""
    event = event_of_pickup(route, at=at, **detail)
    return _picking_up().store(event, ids=response_ids, route=route, at=at).number


def event_of_pickup(route: str, *, at: datetime, **detail: Any) -> AuditEvent:
    """Builds the event that `pickup_steps` stores for each answer."""
    detail = {"route": route, **detail}
    return event_of(EVENT, by=SYSTEM, of=ANY_DELIVERY, team_id=None, at=at, detail=detail)


def pickup_steps(responses: ResponseQuerySet) -> tuple[Lock, Change, New]:
    """Returns the steps with which a chain of writes picks up those of these answers that were not
    picked up before."""
    fresh = Lock(
        "fresh",
        responses.filter(responded_at__isnull=False, picked_up_at__isnull=True).order_by("pk"),
        returns=["delivery_id", "delivery__team_id", "delivery__content_hash"],
        any_number=True,
    )
    at = parameter("at", Response, "picked_up_at")
    picked_up = Change(
        "picked_up",
        fresh,
        sent_at=Coalesce("sent_at", at),
        picked_up_at=at,
        picked_up_by=parameter("route", Response, "picked_up_by"),
    )
    event = New(
        "pickup",
        AuditEvent,
        for_each=fresh,
        team_id=Given("fresh", "delivery__team_id"),
        object_id=GivenText("fresh", "delivery_id"),
        detail=GivenMember("fresh", "delivery__content_hash", "content_hash"),
    )
    return fresh, picked_up, event


@cache
def claiming(*, by_gate: bool) -> Chain:
    """Returns the chain of writes that picks the answer up, and inserts the claim and its audit
    event.

    Its conditions are `agent_runs`, `claimant_may` (the key works and is for this agent),
    `delivery_as_read`, `answer_as_read` and `unclaimed`.
    """
    delivery = Lock(
        "delivery",
        Delivery.objects.filter(pk=parameter("delivery", Delivery, "id")),
        conditions={
            "delivery_as_read": Q(
                status=parameter("status", Delivery, "status"),
                superseded_at__same_as=parameter("superseded_at", Delivery, "superseded_at"),
            ),
        },
    )
    answers = Response.objects.filter(delivery=parameter("delivery", Delivery, "id"))
    response = Lock(
        "response",
        answers,
        conditions={
            "answer_as_read": Q(pk=parameter("response", Response, "id")),
            "unclaimed": ~Exists(Claim.objects.filter(response=OuterRef("pk"))),
        },
    )
    fresh, picked_up, pickup = pickup_steps(answers)
    claim, event = New("claim", Claim), New("event", AuditEvent)
    return Chain(
        *_claimant_locks(by_gate=by_gate),
        delivery,
        response,
        fresh,
        picked_up,
        pickup,
        claim,
        event,
    )


@cache
def locking_claimant(*, by_gate: bool) -> Chain:
    """Returns the locks with which `claiming` begins, for a claim that must lock more deliveries
    before it runs `claiming`."""
    return Chain(*_claimant_locks(by_gate=by_gate))


@cache
def reporting(*, most: int | None) -> Chain:
    """Returns the chain of writes that inserts an outcome and its audit event. The column
    `never_failed` of its step `delivery` says that no failure is stored.

    With `most`, an agent reports the outcome. Its condition is then `has_room`: the delivery has
    fewer than `most` outcomes. An agent that reports an outcome may have acted on the answer, so
    the chain also picks the answer up.
    """
    pk = parameter("delivery", Delivery, "id")
    never_failed = ~Exists(Failure.objects.filter(delivery=OuterRef("pk")))
    conditions: dict[str, Any] = {}
    pickup: Sequence[Step] = ()
    if most is not None:
        outcomes = Outcome.objects.filter(delivery=pk).order_by()
        conditions["has_room"] = ~Exists(outcomes[most - 1 : most])
        pickup = pickup_steps(Response.objects.filter(delivery=pk))
    delivery = Lock(
        "delivery",
        Delivery.objects.filter(pk=pk).annotate(never_failed=never_failed),
        returns=["never_failed"],
        conditions=conditions,
    )
    return Chain(delivery, *pickup, New("outcome", Outcome), New("event", AuditEvent))


@cache
def _picking_up() -> Chain:
    ids = list_parameter("ids", Response, "id")
    return Chain(*pickup_steps(Response.objects.filter(pk__one_of=ids)))


def _claimant_locks(*, by_gate: bool) -> tuple[Lock, Lock]:
    """Returns the locks of the agent and of the key. While a claim holds them, the agent cannot be
    paused and the key cannot be revoked, so afterwards no claim is stored. Claims share these
    locks, and do not wait for each other."""
    agent = Lock(
        "agent",
        Agent.objects.filter(pk=parameter("agent", Agent, "id")),
        conditions={"agent_runs": Q(paused_at__isnull=True)},
        strength="SHARE",
    )
    claimant = Lock(
        "claimant",
        (Gate if by_gate else ApiKey).objects.filter(pk=parameter("key", ApiKey, "id")),
        conditions={"claimant_may": _may_claim(by_gate=by_gate)},
        strength="SHARE",
    )
    return agent, claimant


def _may_claim(*, by_gate: bool) -> Any:
    works = is_usable(parameter("at", ApiKey, "expires_at"))
    if not by_gate:
        return works
    agents = Gate.agents.through._default_manager.filter(agent=parameter("agent", Agent, "id"))
    return works & Exists(agents.filter(gate=OuterRef("pk")))
