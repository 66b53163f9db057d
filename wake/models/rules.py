"""Defines assignment rules, their versions, and the assignments of deliveries."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, TypedDict

from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from accounts.models import SINGLE_LINE, Membership, Team, User

LONGEST_POINTER = 200
LONGEST_VALUE = 200


class EscalationStep(TypedDict):
    """Names the people to whom a rule also assigns a delivery after so many minutes without an
    answer."""

    minutes: int
    people: list[int]
    role: str


class Rule(models.Model):
    """Stores the place of a rule in its team's list. The versions of a rule define its behaviour,
    and all versions stay. A removed rule stays, too, because deliveries name it."""

    class State(models.TextChoices):
        ON = "on", "On"
        OFF = "off", "Off"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="rules", db_index=False)
    position = models.PositiveIntegerField()
    name = models.CharField(max_length=80, validators=[SINGLE_LINE])
    state = models.CharField(max_length=6, choices=State)
    # The number of the rule's newest version.
    version = models.PositiveIntegerField()
    removed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["team", "position"],
                condition=Q(removed_at__isnull=True),
                name="rules_of_a_team",
            )
        ]

    def __str__(self) -> str:
        return self.name


class RuleVersionQuerySet(models.QuerySet["RuleVersion"]):
    def of_team(self, team: Any) -> RuleVersionQuerySet:
        """Returns the newest versions of the team's rules, in their order. Index:
        rules_of_a_team."""
        newest = self.filter(number=F("rule__version"))
        current = newest.filter(rule__team=team, rule__removed_at__isnull=True)
        return current.select_related("rule").order_by("rule__position")

    def of_rule(self, pk: uuid.UUID) -> RuleVersionQuerySet:
        return self.filter(rule=pk)


class Match(models.Model):
    """Defines the deliveries that a rule is for, and until when. An empty list or text matches
    every delivery."""

    class Operator(models.TextChoices):
        IS = "is", "is"
        IS_NOT = "is_not", "is not"
        AT_LEAST = "at_least", "is at least"
        AT_MOST = "at_most", "is at most"
        CONTAINS = "contains", "contains"

    agents: models.JSONField[Any, list[str]] = models.JSONField(default=list)
    types: models.JSONField[Any, list[str]] = models.JSONField(default=list)
    thread_prefix = models.CharField(max_length=128, blank=True)
    # One comparison, if there is an operator: a JSON pointer into the details (RFC 6901), and the
    # text that the value is compared with.
    pointer = models.CharField(max_length=LONGEST_POINTER, blank=True)
    operator = models.CharField(max_length=8, choices=Operator, blank=True)
    value = models.CharField(max_length=LONGEST_VALUE, blank=True)
    expires_at = models.DateTimeField()

    class Meta:
        abstract = True


class RuleVersion(Match):
    """Stores the conditions of a rule, and the people to whom it assigns deliveries. A version
    never changes."""

    rule = models.ForeignKey(
        Rule, on_delete=models.CASCADE, related_name="versions", db_index=False
    )
    number = models.PositiveIntegerField()

    people: models.JSONField[Any, list[int]] = models.JSONField(default=list)
    role = models.CharField(max_length=10, choices=Membership.Role, blank=True)
    only_they = models.BooleanField()

    # How many people have to approve (wake/assignment/votes.py).
    needed = models.PositiveSmallIntegerField(default=1, db_default=1)

    # Whether the agent must wait if no one answers in time, even if the agent meant to go on
    # (wake/assignment/assigning.py).
    must_wait = models.BooleanField(default=False, db_default=False)

    # Whether a person who approves signs with a passkey. `must_wait` is then True, too.
    needs_signature = models.BooleanField(default=False, db_default=False)

    # How long after its release an approval can be claimed, if the delivery itself allows more time
    # (docs/protocol.md, Claim).
    claim_within_seconds = models.PositiveIntegerField(null=True)

    # The steps that follow without an answer: at most three, in the order of their minutes since
    # the delivery, each {"minutes", "people", "role"}. The people of a step are then assigned, too.
    escalation: models.JSONField[Any, list[EscalationStep]] = models.JSONField(
        default=list, db_default=[]
    )

    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=80)

    objects = RuleVersionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rule", "number"], name="one_number_a_version")
        ]

    def __str__(self) -> str:
        return f"version {self.number} of {self.rule_id}"


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def current_of(self, version: Any, at: datetime) -> AssignmentQuerySet:
        """Returns the assignment that new deliveries may share. Index: current_assignments."""
        return self.filter(rule_version=version, current_until__gt=at)

    def with_people(self, ids: Any) -> AssignmentQuerySet:
        """Returns a row for each person, in the order of their names. `can_answer` says whether
        they still may answer. An assignment without people has one row."""
        member = Membership.objects.that_answer().filter(
            team=OuterRef("team"), user=OuterRef("people__user")
        )
        rows = self.filter(pk__in=ids).annotate(can_answer=Exists(member))
        return rows.order_by("people__name", "people__pk")


class Assignment(models.Model):
    """Stores to whom deliveries are assigned: the people of a rule, as they were at one time.
    Deliveries share an assignment while the team stays the same. `rule_version` is None if a person
    took a delivery that no rule had assigned.

    A change for only one delivery is made in an assignment of its own, which has the delivery's id
    (docs/decisions/0064-deliveries-share-their-assignment.md)."""

    # In earlier versions, each delivery had its own assignment.
    id = models.UUIDField(
        primary_key=True, default=uuid.uuid4, editable=False, db_column="delivery_id"
    )
    # A constraint on these keys would lock the rows of the rule and the people.
    team = models.ForeignKey(
        Team,
        null=True,  # null in rows that an earlier version wrote
        on_delete=models.CASCADE,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    rule_version = models.ForeignKey(
        RuleVersion,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    # Whether other people may not answer (wake/assignment/assigned.py).
    only_they = models.BooleanField()
    # Until when new deliveries may share this assignment. This time is null if people have changed
    # since (wake/assignment/sharing.py), or if the assignment belongs to only one delivery.
    current_until = models.DateTimeField(null=True)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["rule_version"],
                condition=Q(current_until__isnull=False),
                name="current_assignments",
            )
        ]

    def __str__(self) -> str:
        return f"Assignment {self.pk}"


class AssignedPerson(models.Model):
    """Names a person to whom a delivery is assigned, by their name at that moment."""

    assignment = models.ForeignKey(
        Assignment, on_delete=models.CASCADE, related_name="people", db_constraint=False
    )
    user = models.ForeignKey(
        User,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    name = models.CharField(max_length=80)
    # The name of the absent person for whom this person stands in, or empty if the rule itself
    # names this person.
    deputy_for = models.CharField(max_length=80, blank=True, default="", db_default="")
    # When this person took the delivery themselves, or None if a rule assigned it to them.
    taken_at = models.DateTimeField(null=True)
    # After how many minutes without an answer this person was added, or None if they were assigned
    # from the beginning.
    added_after = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "assignment"], name="assigned_to_a_person_once")
        ]

    def __str__(self) -> str:
        return self.name
