"""Assigns a delivery as it is stored, in its transaction."""

from __future__ import annotations

from database.compiled_queries import insert
from wake.assignment import escalation
from wake.models import Assignment, Delivery, RuleVersion
from wake.models.assigning import add_people


def raise_to(version: RuleVersion | None, delivery: Delivery) -> None:
    """Makes the unsaved delivery ask for what its rule asks for, if that is more: for more people,
    and to wait where the agent would go on without an answer."""
    if version is None:
        return
    if version.needed > (delivery.quorum or 1):
        delivery.quorum = version.needed
    if version.must_wait and delivery.goes_on_unanswered:
        delivery.on_timeout = Delivery.OnTimeout.HOLD


def assign(delivery: Delivery, version: RuleVersion) -> None:
    """Stores the assignment, and the people whom the rule names as the team is at this moment. On
    PostgreSQL, one_statement.store() does it with the delivery if nothing is in the way."""
    insert(assignment_of(delivery, version))
    add_people(
        delivery.pk,
        version.people,
        version.role,
        team_id=delivery.team_id,
        at=delivery.created_at,
    )


def assignment_of(delivery: Delivery, version: RuleVersion) -> Assignment:
    """Builds the row."""
    return Assignment(
        delivery=delivery,
        rule_version=version,
        only_they=version.only_they,
        escalates_at=escalation.due_at(
            version.escalation, done=0, delivered_at=delivery.created_at
        ),
    )
