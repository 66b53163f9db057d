"""Says whom a delivery is assigned to, and who may answer it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Exists, OuterRef

from wake.models import AssignedPerson, Assignment, Delivery, DeliveryQuerySet


@dataclass(frozen=True, slots=True)
class Assigned:
    """Holds the people of one assignment. `rule` is None if a person took the delivery, and no rule
    had assigned it."""

    assignment: Assignment
    people: list[AssignedPerson] = field(default_factory=list)

    @property
    def rule(self) -> str | None:
        version = self.assignment.rule_version
        return version.rule.name if version else None

    @property
    def needed(self) -> int:
        """Returns how many people its rule asks to approve."""
        version = self.assignment.rule_version
        return version.needed if version else 1

    def makes_wait(self, delivery: Delivery) -> bool:
        """Returns whether its rule makes the agent wait if no one answers."""
        version = self.assignment.rule_version
        waits = delivery.on_timeout == Delivery.OnTimeout.HOLD
        return waits and version is not None and version.must_wait

    @property
    def able(self) -> list[AssignedPerson]:
        """Returns those who may still answer in the team."""
        return [person for person in self.people if person.can_answer]  # type: ignore[attr-defined]

    @property
    def is_left_alone(self) -> bool:
        """Returns whether none of them may answer any more. Then everyone else may, because a
        question must not wait for people who left."""
        return not self.able

    @property
    def only_they(self) -> bool:
        return self.assignment.only_they and not self.is_left_alone

    def is_to(self, user_id: int) -> bool:
        return any(person.user_id == user_id for person in self.people)

    def blocks(self, user_id: int) -> bool:
        """Returns whether this person may not answer, although their role allows it."""
        return self.only_they and not self.is_to(user_id)

    @property
    def deputies(self) -> str:
        """Returns `Bo stands in for Alice, who is away.`; empty if no one does."""
        return " ".join(
            f"{person.name} stands in for {person.deputy_for}, who is away."
            for person in self.people
            if person.deputy_for
        )

    @property
    def added(self) -> list[str]:
        """Returns `Bo was added after 30 minutes without an answer.`, a sentence for each step."""
        steps: dict[int, list[str]] = {}
        for person in self.people:
            if person.added_after is not None:
                steps.setdefault(person.added_after, []).append(person.name)
        return [
            f"{in_words(names)} {'was' if len(names) == 1 else 'were'} added after "
            f"{in_minutes(minutes)} without an answer."
            for minutes, names in sorted(steps.items())
        ]

    @property
    def names(self) -> str:
        """Returns `Alice, Bo and Carla`: those who may still answer, or else all."""
        return in_words([person.name for person in self.able or self.people])


def assigned_to(ids: Collection[UUID]) -> dict[UUID, Assigned]:
    """Returns the assignments of these deliveries that have people; one query."""
    assigned: dict[UUID, Assigned] = {}
    for person in AssignedPerson.objects.of_deliveries(ids):
        assignment = person.assignment
        assigned.setdefault(assignment.pk, Assigned(assignment)).people.append(person)
    return assigned


def only_of(rows: DeliveryQuerySet, people: Collection[int]) -> DeliveryQuerySet:
    """Filters by the people to whom deliveries are assigned. Index: assigned_to_a_person_once."""
    return rows.filter(_is_assigned_to(people))


def with_is_mine(rows: DeliveryQuerySet, user_id: int) -> DeliveryQuerySet:
    """Adds `is_mine`: whether it is assigned to this person."""
    return rows.annotate(is_mine=_is_assigned_to([user_id]))


def _is_assigned_to(people: Collection[int]) -> Exists:
    return Exists(AssignedPerson.objects.filter(assignment=OuterRef("pk"), user__in=people))


def assignment_of(delivery: Delivery) -> Assigned | None:
    """Returns the assignment of one delivery, also if it has no people."""
    if assigned := assigned_to([delivery.pk]).get(delivery.pk):
        return assigned
    rows = Assignment.objects.select_related("rule_version__rule")
    without_people = rows.filter(delivery=delivery).first()
    return Assigned(without_people) if without_people else None


def in_minutes(minutes: int) -> str:
    """Returns `30 minutes`, `2 hours` or `1 day`, in the largest unit that fits."""
    for unit, size in (("day", 24 * 60), ("hour", 60), ("minute", 1)):
        if minutes % size == 0:
            number = minutes // size
            return f"{number} {unit}{'' if number == 1 else 's'}"
    raise ValueError(minutes)


def in_words(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
