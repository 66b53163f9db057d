"""Creates the assignment that deliveries of a rule share, and copies it if only one delivery's
assignment changes.

Deliveries share an assignment on PostgreSQL while the people of the team stay the same. A trigger
ends the current assignments of a team with each change of its members, their names and their
absences (wake/migrations/0040_people_end_assignments.py). Creating an assignment locks the team, as
the trigger does. So if an assignment is created before such a change, the change ends it. Otherwise
the assignment includes the change (docs/decisions/0064-deliveries-share-their-assignment.md).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from accounts.access import members
from accounts.models import Absence
from wake.models import AssignedPerson, Assignment, Delivery, RuleVersion
from wake.models.assigning import add_people

MAX_VERSIONS = 100_000
NEVER = datetime(9999, 12, 31, tzinfo=UTC)


class _Current(NamedTuple):
    assignment_id: UUID
    until: datetime


_remembered: dict[int, _Current] = {}


def current_assignment(version: RuleVersion, *, team_id: int, at: datetime) -> UUID:
    """Returns the assignment that new deliveries of this rule share. Makes no query if this process
    remembers the assignment. The statement that uses the assignment checks that the assignment is
    still current."""
    current = _remembered.get(version.pk)
    if current is None or current.until <= at:
        assignment = Assignment.objects.current_of(version, at).first()
        if assignment is None:
            assignment = _make(version, team_id=team_id, at=at)
        if len(_remembered) >= MAX_VERSIONS:
            _remembered.clear()
        current = _Current(assignment.pk, assignment.current_until or NEVER)
        _remembered[version.pk] = current
    return current.assignment_id


def forget(version: RuleVersion) -> None:
    """Makes the next delivery look for the current assignment."""
    _remembered.pop(version.pk, None)


@transaction.atomic
def _make(version: RuleVersion, *, team_id: int, at: datetime) -> Assignment:
    members.hold(team_id)
    if assignment := Assignment.objects.current_of(version, at).first():
        return assignment  # another process made the assignment
    absences = Absence.objects.current(at).filter(user__memberships__team=team_id)
    next_back = absences.order_by("until").values_list("until", flat=True).first()
    assignment = Assignment.objects.create(
        team_id=team_id,
        rule_version=version,
        only_they=version.only_they,
        current_until=next_back or NEVER,
    )
    add_people(assignment, version.people, version.role, at=at)
    return assignment


def own_assignment(delivery: Delivery) -> Assignment:
    """Returns an assignment that only the locked delivery has, so that it can change. The returned
    assignment is a copy of the shared one, or a new one."""
    shared = delivery.assignment
    if shared is not None and shared.pk == delivery.pk:
        return shared
    own, is_new = Assignment.objects.get_or_create(
        id=delivery.pk,
        defaults={
            "team_id": delivery.team_id,
            "rule_version": shared.rule_version if shared else None,
            "only_they": shared is not None and shared.only_they,
        },
    )
    people = list(shared.people.order_by("pk")) if shared and is_new else []
    for person in people:
        person.pk, person.assignment = None, own
    AssignedPerson.objects.bulk_create(people)
    delivery.assignment = own
    delivery.save(update_fields=["assignment"])
    return own
