"""Assigns waiting deliveries to more people, step by step, as their rule says.

A step adds people and tells them why. A step removes no one, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from accounts.audit import SYSTEM, record
from database.sweeps import sweep
from wake import signals
from wake.assignment.sharing import own_assignment
from wake.models import AssignedPerson, Delivery, Response
from wake.models.assigning import add_people
from wake.models.rules import EscalationStep

AT_ONCE = 200
LATER = timedelta(minutes=1)


def due_at(
    steps: Sequence[EscalationStep], *, done: int, delivered_at: datetime
) -> datetime | None:
    """Returns when the next step is due, or None if none is left."""
    return delivered_at + timedelta(minutes=steps[done]["minutes"]) if done < len(steps) else None


def escalate_due(*, at: datetime) -> int:
    """Takes the due steps; returns how many people were added. Skips deliveries that no longer wait
    for an answer."""
    due = Delivery.objects.due_to_escalate(at).order_by("escalates_at")
    return sweep(
        due.select_related("assignment__rule_version"),
        partial(_escalate, at=at),
        what="steps of escalation",
        at_once=AT_ONCE,
        # An answer locks the delivery. The row is then left to the next sweep.
        postpone=partial(_postpone, at=at),
    )


def _escalate(delivery: Delivery, *, at: datetime) -> int:
    version = delivery.assignment.rule_version if delivery.assignment else None
    if Response.objects.filter(delivery=delivery, responded_at__isnull=True).exists():
        return 0  # a held answer may still be undone: the next sweep looks again
    if version is None or not _waits(delivery, at=at):
        delivery.escalates_at = None
        delivery.save(update_fields=["escalates_at"])
        return 0
    step = version.escalation[delivery.steps_done]
    added = _add(delivery, step, at=at)
    delivery.steps_done += 1
    delivery.escalates_at = due_at(
        version.escalation, done=delivery.steps_done, delivered_at=delivery.created_at
    )
    delivery.save(update_fields=["steps_done", "escalates_at"])
    if added:
        minutes = step["minutes"]
        names = [person.name for person in added]
        record(
            "delivery.escalated",
            by=SYSTEM,
            of=delivery,
            team=delivery.team_id,
            at=at,
            minutes=minutes,
            people=names,
        )
        user_ids = [person.user_id for person in added]
        signals.assigned.send(None, delivery=delivery, user_ids=user_ids, at=at)
        signals.notify_inbox([delivery])
    return len(added)


def _waits(delivery: Delivery, *, at: datetime) -> bool:
    if delivery.expires_at is not None and delivery.expires_at <= at:
        return False
    return Delivery.objects.awaiting_response().filter(pk=delivery.pk).exists()


def _add(delivery: Delivery, step: EscalationStep, *, at: datetime) -> list[AssignedPerson]:
    """Assigns the delivery to the people of the step who may answer now, and to the deputies of
    absent people. Returns the people who were not assigned before."""
    own = own_assignment(delivery)
    before = set(own.people.values_list("user", flat=True))
    add_people(own, step["people"], step["role"], added_after=step["minutes"], at=at)
    return list(own.people.exclude(user__in=before).order_by("pk"))


def _postpone(delivery_id: UUID, *, at: datetime) -> None:
    """Moves the due time of a failed step, so that other steps come first."""
    Delivery.objects.filter(pk=delivery_id).update(escalates_at=at + LATER)
