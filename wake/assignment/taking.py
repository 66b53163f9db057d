"""Lets a person take a delivery, which assigns it to them."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.access.objects import NotAllowed, is_owner, may_answer
from accounts.audit import person, record
from accounts.models import User
from wake.assignment.assigned import Assigned, assignment_of
from wake.assignment.sharing import own_assignment
from wake.models import AssignedPerson, Delivery


class NotAssigned(NotAllowed):
    """Only the people this is assigned to can answer it."""

    @classmethod
    def to(cls, assigned: Assigned) -> NotAssigned:
        return cls(f"Only {assigned.names} can answer this. An owner of the team can take it.")


def check_may_answer(delivery: Delivery, *, by: User) -> None:
    """Raises NotAssigned if a rule assigned the delivery to others only. Makes no query in a team
    that never had a rule. The delivery must be loaded with its team."""
    if not delivery.team.rules_version:
        return
    assigned = assignment_of(delivery)
    if assigned and assigned.blocks(by.pk):
        raise NotAssigned.to(assigned)


@transaction.atomic
def take(delivery: Delivery, *, by: User, address: str = "", at: datetime) -> None:
    """Assigns the delivery to the person, too. A second call changes nothing, and neither does a
    call after the answer. Raises NotAllowed. Raises NotAssigned unless the person owns the team."""
    if not may_answer(by, delivery.team_id):
        raise NotAllowed(NotAllowed.__doc__)
    delivery = Delivery.objects.select_for_update().get(pk=delivery.pk)
    if delivery.answered_at is not None:
        return
    assigned = assignment_of(delivery)
    if assigned and assigned.is_to(by.pk):
        return
    if assigned and assigned.blocks(by.pk) and not is_owner(by, delivery.team_id):
        raise NotAssigned.to(assigned)
    AssignedPerson.objects.create(
        assignment=own_assignment(delivery), user=by, name=by.display_name, taken_at=at
    )
    record("delivery.taken", by=person(by, address), of=delivery, team=delivery.team_id, at=at)
