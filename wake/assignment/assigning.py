"""Assigns a delivery as it is stored, in its transaction."""

from __future__ import annotations

from wake.assignment import escalation
from wake.models import Assignment, Delivery, RuleVersion
from wake.models.assigning import add_people


def raise_to(version: RuleVersion | None, delivery: Delivery) -> None:
    """Makes the unsaved delivery ask for what its rule asks for, if that is more: for more people,
    and to wait where the agent would go on without an answer. Also says when it escalates."""
    if version is None:
        return
    if version.needed > (delivery.quorum or 1):
        delivery.quorum = version.needed
    if version.must_wait and delivery.goes_on_unanswered:
        delivery.on_timeout = Delivery.OnTimeout.HOLD
    delivery.escalates_at = escalation.due_at(
        version.escalation, done=0, delivered_at=delivery.created_at
    )


def assign(delivery: Delivery, version: RuleVersion) -> None:
    """Stores the delivery's own assignment, to the people whom the rule names as the team is at
    this moment. On PostgreSQL, most deliveries share one instead (sharing.py)."""
    assignment = Assignment.objects.create(
        id=delivery.pk,
        team_id=delivery.team_id,
        rule_version=version,
        only_they=version.only_they,
    )
    add_people(assignment, version.people, version.role, at=delivery.created_at)
