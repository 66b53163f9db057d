"""Returns the people to whom a delivery is assigned, and the people who may answer it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Exists, OuterRef

from wake.models import AssignedPerson, Assignment, Delivery, DeliveryQuerySet


class Person(NamedTuple):
    """Names one person of an assignment (models.AssignedPerson). `can_answer` is True if the person
    still may answer."""

    user_id: int | None
    name: str
    deputy_for: str
    added_after: int | None
    can_answer: bool


@dataclass(frozen=True)  # has no slots, because the cached property needs a `__dict__`
class Assigned:
    """Holds one assignment and its people. Deliveries that share an assignment have the same
    instance. `rule` is None if a person took the delivery and no rule had assigned it. `needed` is
    how many people the rule asks to approve."""

    for_them_only: bool
    rule: str | None
    needed: int
    must_wait: bool
    people: list[Person] = field(default_factory=list)

    def makes_wait(self, delivery: Delivery) -> bool:
        """Returns whether the rule of this assignment makes the agent wait if no one answers."""
        return self.must_wait and delivery.on_timeout == Delivery.OnTimeout.HOLD

    @cached_property
    def able(self) -> list[Person]:
        """Returns the people who may still answer in the team."""
        return [person for person in self.people if person.can_answer]

    @property
    def is_left_alone(self) -> bool:
        """Returns whether none of the assigned people may answer any more. Everyone else may answer
        then, because a question must not wait for people who left."""
        return not self.able

    @cached_property
    def only_they(self) -> bool:
        return self.for_them_only and not self.is_left_alone

    def is_to(self, user_id: int) -> bool:
        return any(person.user_id == user_id for person in self.people)

    def blocks(self, user_id: int) -> bool:
        """Returns whether this person may not answer, although their role allows it."""
        return self.only_they and not self.is_to(user_id)

    @property
    def deputies(self) -> str:
        """Returns `Bo stands in for Alice, who is away.`, or an empty text if no one stands in."""
        return " ".join(
            f"{person.name} stands in for {person.deputy_for}, who is away."
            for person in self.people
            if person.deputy_for
        )

    @property
    def added(self) -> list[str]:
        """Returns a sentence for each step, such as `Bo was added after 30 minutes without an
        answer.`"""
        steps: dict[int, list[str]] = {}
        for person in self.people:
            if person.added_after is not None:
                steps.setdefault(person.added_after, []).append(person.name)
        return [
            f"{in_words(names)} {'was' if len(names) == 1 else 'were'} added after "
            f"{in_minutes(minutes)} without an answer."
            for minutes, names in sorted(steps.items())
        ]

    @cached_property
    def names(self) -> str:
        """Returns `Alice, Bo and Carla`: the people who may still answer, or all people of the
        assignment if none of them may."""
        return in_words([person.name for person in self.able or self.people])


def assigned_to(ids: Collection[UUID]) -> dict[UUID, Assigned]:
    """Returns the assignments of these deliveries. Makes two queries."""
    rows = Delivery.objects.filter(pk__in=ids, assignment__isnull=False)
    assignments = dict(rows.values_list("pk", "assignment"))
    found = assignments_by_id(assignments.values())
    return {pk: found[of] for pk, of in assignments.items()}


def assignments_by_id(ids: Iterable[UUID | None]) -> dict[UUID | None, Assigned]:
    """Returns these assignments. Makes one query, and none if all deliveries are for everyone."""
    named = {pk for pk in ids if pk is not None}
    found: dict[UUID | None, Assigned] = {}
    for pk, only_they, rule, needed, must_wait, person_id, *person in _with_people(named):
        if pk not in found:
            found[pk] = Assigned(only_they, rule, needed or 1, bool(must_wait))
        if person_id is not None:
            found[pk].people.append(Person(*person))
    return found


def _with_people(ids: Collection[UUID]) -> Iterable[tuple[Any, ...]]:
    version = "rule_version__"
    return Assignment.objects.with_people(ids).values_list(
        *("pk", "only_they", f"{version}rule__name", f"{version}needed", f"{version}must_wait"),
        *("people", "people__user", "people__name", "people__deputy_for"),
        *("people__added_after", "can_answer"),
    )


def only_of(rows: DeliveryQuerySet, people: Collection[int]) -> DeliveryQuerySet:
    """Filters by the people to whom deliveries are assigned. Index: assigned_to_a_person_once."""
    return rows.filter(_is_assigned_to(people))


def with_is_mine(rows: DeliveryQuerySet, user_id: int) -> DeliveryQuerySet:
    """Adds `is_mine`, which is True if the delivery is assigned to this person."""
    return rows.annotate(is_mine=_is_assigned_to([user_id]))


def _is_assigned_to(people: Collection[int]) -> Exists:
    return Exists(AssignedPerson.objects.filter(assignment=OuterRef("assignment"), user__in=people))


def assignment_of(delivery: Delivery) -> Assigned | None:
    return assigned_to([delivery.pk]).get(delivery.pk)


def in_minutes(minutes: int) -> str:
    """Returns `30 minutes`, `2 hours` or `1 day`, in the largest unit that fits."""
    for unit, size in (("day", 24 * 60), ("hour", 60), ("minute", 1)):
        if minutes % size == 0:
            number = minutes // size
            return f"{number} {unit}{'' if number == 1 else 's'}"
    raise ValueError(minutes)


def in_words(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
