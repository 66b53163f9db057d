"""Assigns a delivery as it is stored, in its transaction."""

from __future__ import annotations

from database.compiled_queries import insert
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
    """Gives the unsaved delivery an assignment of its own, to the people whom the rule names as the
    team is at this moment. Where nothing is in the way, it shares one instead (sharing.py)."""
    assignment = Assignment(
        id=delivery.pk,
        team_id=delivery.team_id,
        rule_version=version,
        only_they=version.only_they,
    )
    insert(assignment)
    add_people(assignment, version.people, version.role, at=delivery.created_at)
    delivery.assignment = assignment
