"""Assigns a new delivery in the transaction that stores it."""

from __future__ import annotations

from wake.assignment import escalation
from wake.models import Assignment, Delivery, RuleVersion
from wake.models.assigning import add_people


def raise_to(version: RuleVersion | None, delivery: Delivery) -> None:
    """Applies the demands of a rule to an unsaved delivery: more people have to approve, the agent
    waits instead of going on without an answer, people sign an approval with a passkey, or an
    approval has to be used sooner. Also sets when the delivery escalates."""
    if version is None:
        return
    if version.needed > (delivery.quorum or 1):
        delivery.quorum = version.needed
    if version.must_wait and delivery.goes_on_unanswered:
        delivery.on_timeout = Delivery.OnTimeout.HOLD
    delivery.needs_signature = version.needs_signature
    if version.claim_within_seconds is not None and not delivery.is_internal:
        own = delivery.claim_within_seconds or version.claim_within_seconds
        delivery.claim_within_seconds = min(own, version.claim_within_seconds)
    delivery.escalates_at = escalation.due_at(
        version.escalation, done=0, delivered_at=delivery.created_at
    )


def assign(delivery: Delivery, version: RuleVersion) -> None:
    """Stores the delivery's own assignment, to the people whom the rule names in the team's present
    state. On PostgreSQL, most deliveries share an assignment instead (sharing.py)."""
    assignment = Assignment.objects.create(
        id=delivery.pk,
        team_id=delivery.team_id,
        rule_version=version,
        only_they=version.only_they,
    )
    add_people(assignment, version.people, version.role, at=delivery.created_at)
