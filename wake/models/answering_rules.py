"""Defines answering rules, their versions, and the trial of each rule with each delivery."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import F, Q

from accounts.models import SINGLE_LINE, Agent, Team
from database.follower import ReadUntil
from wake.models.deliveries import Delivery
from wake.models.rules import Match


class AnsweringRuleQuerySet(models.QuerySet["AnsweringRule"]):
    def lock(self) -> None:
        """Locks the rules, so that an approval by one of them happens either before or after this
        transaction. The rules are locked last, in the same order as in an approval
        (wake/answering/trials.py)."""
        list(self.select_for_update(no_key=True).order_by("pk").values_list("pk"))


class AnsweringRule(models.Model):
    """Names a rule that approves deliveries, and says whether it already does. Its versions contain
    its conditions. All versions stay, and a removed rule stays, too, because answers name it."""

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
    # The number of the rule's newest version.
    version = models.PositiveIntegerField()
    created_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)

    # When and by whom the rule was turned on, the reason if the rule had not been tried enough, and
    # whether the rule has since gone back to shadow by itself.
    on_since = models.DateTimeField(null=True)
    on_by = models.CharField(max_length=80, blank=True)
    on_reason = models.CharField(max_length=280, blank=True)
    stopped_itself_at = models.DateTimeField(null=True)

    # Only refusals after this time keep the rule from answering (wake/answering/refusals.py),
    # because an owner let the rule answer again after the earlier refusals.
    counts_refusals_after = models.DateTimeField(null=True)

    # How many deliveries the rule approved on which day (UTC).
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
        """Returns the newest versions of the team's rules, oldest rule first. Index:
        answering_rules_of_a_team."""
        newest = self.filter(number=F("rule__version"))
        current = newest.filter(rule__team=team, rule__removed_at__isnull=True)
        return current.select_related("rule").order_by("rule__created_at", "rule")

    def of_rule(self, pk: uuid.UUID) -> AnsweringVersionQuerySet:
        return self.filter(rule=pk)

    def at_work(self, at: datetime) -> AnsweringVersionQuerySet:
        """Returns the newest versions that are on or in shadow and have not ended."""
        newest = self.filter(number=F("rule__version"), expires_at__gt=at)
        return newest.filter(rule__removed_at__isnull=True).exclude(
            rule__state=AnsweringRule.State.OFF
        )


class AnsweringVersion(Match):
    """Stores one version of a rule, which never changes: which deliveries the rule approves, how
    many it approves a day, and for how many days people answer an agent's deliveries after they
    have refused a delivery of that agent."""

    rule = models.ForeignKey(
        AnsweringRule, on_delete=models.CASCADE, related_name="versions", db_index=False
    )
    number = models.PositiveIntegerField()
    most_a_day = models.PositiveIntegerField()
    # After people refuse a delivery that the rule matches, the rule approves none of that agent's
    # deliveries for this many days, and people answer them.
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


# In AGREED, a person approved the delivery without another rule. In CONTRADICTED, a person rejected
# or redirected the delivery, or undid the rule's approval.
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
        """Returns the approvals of all versions of the rule, newest first."""
        rows = self.filter(version__rule=rule, approved_at__isnull=False)
        return rows.order_by("-approved_at", "-pk")

    def undone(self, rule: uuid.UUID, *, since: datetime) -> TrialQuerySet:
        """Returns the approvals of all versions of the rule that a person undid, newest first.
        Index: undone_trials."""
        rows = self.filter(version__rule=rule, taken_back_at__gt=since)
        return rows.order_by("-taken_back_at", "-pk")

    def judged(self) -> TrialQuerySet:
        """Returns the trials whose deliveries people answered, or whose approval they undid. An
        answer that can still be undone does not count."""
        return self.filter(AGREED | CONTRADICTED)


class Trial(models.Model):
    """Records that a version of a rule matches a delivery, and so would approve it."""

    # A constraint on these keys would lock the rows of the delivery and the version.
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
    # When the rule may approve the delivery. The time is null if the rule is in shadow, if the
    # delivery is in the sample for people, and after the decision.
    due_at = models.DateTimeField(null=True)
    # When the rule approved the delivery, and when a person undid that.
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
        """Returns whether a judged trial contradicts the rule. Its delivery must be loaded."""
        was_approved = self.delivery.status == Delivery.Status.APPROVED
        return self.taken_back_at is not None or not was_approved


class TriedUntil(ReadUntil):
    """Marks up to which stamp the answering rules have tried an agent's deliveries."""

    agent = models.OneToOneField(
        Agent,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="tried_until",
        db_constraint=False,
    )
