"""Defines answering rules, their versions, and what they would have said of each delivery."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import F, Q

from accounts.models import SINGLE_LINE, Agent, Team
from wake.models.deliveries import Delivery
from wake.models.rules import Match


class AnsweringRuleQuerySet(models.QuerySet["AnsweringRule"]):
    def lock(self) -> None:
        """Locks the rules, so that an approval by one of them comes before or after this
        transaction. Locked last, as an approval does (wake/answering/trials.py)."""
        list(self.select_for_update(no_key=True).order_by("pk").values_list("pk"))


class AnsweringRule(models.Model):
    """Names a rule that approves deliveries, and says whether it does so already. Its versions say
    which deliveries; all of them stay, and so does a removed rule, because answers name it."""

    class State(models.TextChoices):
        SHADOW = "shadow", "Dry run"
        ON = "on", "On"
        OFF = "off", "Off"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(
        Team, on_delete=models.CASCADE, related_name="answering_rules", db_index=False
    )
    name = models.CharField(max_length=60, validators=[SINGLE_LINE])
    state = models.CharField(max_length=6, choices=State)
    # The number of its newest version.
    version = models.PositiveIntegerField()
    created_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)

    # Since when it is on, who turned it on, and why if it had not been tried enough; and whether it
    # went back to shadow by itself since.
    on_since = models.DateTimeField(null=True)
    on_by = models.CharField(max_length=80, blank=True)
    on_reason = models.CharField(max_length=280, blank=True)
    stopped_itself_at = models.DateTimeField(null=True)

    # Only later refusals of people keep it from answering (wake/answering/refusals.py), because an
    # owner let it answer again after the earlier ones.
    counts_refusals_after = models.DateTimeField(null=True)

    # How many deliveries it approved on which day (UTC).
    counted_on = models.DateField(null=True)
    counted = models.PositiveIntegerField(default=0)

    objects = AnsweringRuleQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["team", "created_at"],
                condition=Q(removed_at__isnull=True),
                name="answering_rules_of_a_team",
            )
        ]

    def __str__(self) -> str:
        return self.name


class AnsweringVersionQuerySet(models.QuerySet["AnsweringVersion"]):
    def of_team(self, team: Any) -> AnsweringVersionQuerySet:
        """Returns what the team's rules say now, the oldest rule first. Index:
        answering_rules_of_a_team."""
        newest = self.filter(number=F("rule__version"))
        current = newest.filter(rule__team=team, rule__removed_at__isnull=True)
        return current.select_related("rule").order_by("rule__created_at", "rule")

    def of_rule(self, pk: uuid.UUID) -> AnsweringVersionQuerySet:
        return self.filter(rule=pk)

    def at_work(self, at: datetime) -> AnsweringVersionQuerySet:
        """Returns the newest versions that are on or in shadow, and have not ended."""
        newest = self.filter(number=F("rule__version"), expires_at__gt=at)
        return newest.filter(rule__removed_at__isnull=True).exclude(
            rule__state=AnsweringRule.State.OFF
        )


class AnsweringVersion(Match):
    """Stores which deliveries a rule approves, at most how many a day, and for how long it leaves
    them to people who refused one. It never changes."""

    rule = models.ForeignKey(
        AnsweringRule, on_delete=models.CASCADE, related_name="versions", db_index=False
    )
    number = models.PositiveIntegerField()
    most_a_day = models.PositiveIntegerField()
    # For how long an agent's deliveries go to people after people refused one that it matches.
    ask_people_days = models.PositiveSmallIntegerField(default=1, db_default=1)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=80)

    objects = AnsweringVersionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["rule", "number"], name="one_number_an_answering_version"
            )
        ]

    def __str__(self) -> str:
        return f"version {self.number} of {self.rule_id}"


# A person approved it, too, and no other rule did; or they rejected or redirected it, or undid what
# the rule approved.
AGREED = Q(
    approved_at__isnull=True,
    delivery__status=Delivery.Status.APPROVED,
    delivery__response__rule_version__isnull=True,
)
CONTRADICTED = Q(taken_back_at__isnull=False) | Q(
    approved_at__isnull=True,
    delivery__status__in=[Delivery.Status.REJECTED, Delivery.Status.REDIRECTED],
)


class TrialQuerySet(models.QuerySet["Trial"]):
    def due(self, at: datetime) -> TrialQuerySet:
        """Returns deliveries that a rule may approve now. Index: trials_to_answer."""
        return self.filter(due_at__lte=at)

    def approved_by(self, rule: uuid.UUID) -> TrialQuerySet:
        """Returns what any version of the rule approved, the newest first."""
        rows = self.filter(version__rule=rule, approved_at__isnull=False)
        return rows.order_by("-approved_at", "-pk")

    def undone(self, rule: uuid.UUID, *, since: datetime) -> TrialQuerySet:
        """Returns what any version of the rule approved and a person undid, the newest first.
        Index: undone_trials."""
        rows = self.filter(version__rule=rule, taken_back_at__gt=since)
        return rows.order_by("-taken_back_at", "-pk")

    def judged(self) -> TrialQuerySet:
        """Returns those whose deliveries people answered, or whose approval they undid. An answer
        that can still be undone does not count."""
        return self.filter(AGREED | CONTRADICTED)


class Trial(models.Model):
    """Says that a version of a rule matches a delivery, and so would approve it."""

    # A constraint on these keys would lock the delivery's row and the version's row.
    delivery = models.ForeignKey(
        Delivery,
        on_delete=models.CASCADE,
        related_name="trials",
        db_constraint=False,
        db_index=False,
    )
    version = models.ForeignKey(
        AnsweringVersion,
        on_delete=models.CASCADE,
        related_name="trials",
        db_constraint=False,
        db_index=False,
    )
    created_at = models.DateTimeField()
    # When the rule may approve it; null in shadow, in the sample for people, and afterwards.
    due_at = models.DateTimeField(null=True)
    # When the rule approved it, and when a person undid that.
    approved_at = models.DateTimeField(null=True)
    taken_back_at = models.DateTimeField(null=True)

    objects = TrialQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["delivery", "version"], name="one_trial_a_version")
        ]
        indexes = [
            models.Index(fields=["version", "-created_at"], name="trials_of_a_version"),
            models.Index(
                fields=["due_at"], condition=Q(due_at__isnull=False), name="trials_to_answer"
            ),
            models.Index(
                fields=["taken_back_at"],
                condition=Q(taken_back_at__isnull=False),
                name="undone_trials",
            ),
        ]

    def __str__(self) -> str:
        return f"Trial of {self.delivery_id}"

    @property
    def is_contradicted(self) -> bool:
        """Returns whether a judged trial is; its delivery is loaded."""
        was_approved = self.delivery.status == Delivery.Status.APPROVED
        return self.taken_back_at is not None or not was_approved


class TriedUntil(models.Model):
    """Marks how far an agent's deliveries were tried: the last activity stamp, in microseconds
    since 1970."""

    agent = models.OneToOneField(
        Agent,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="tried_until",
        db_constraint=False,
    )
    activity_us = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.agent_id} until {self.activity_us}"
