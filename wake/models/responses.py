"""Defines responses and drafts."""

from __future__ import annotations

import json
import uuid
from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import Q

from accounts.models import User
from database.clock import database_now
from database.encrypted_columns import ContentTextField
from wake.models.answering_rules import AnsweringVersion
from wake.models.deliveries import Delivery
from wake.models.sights import Place


class ResponseQuerySet(models.QuerySet["Response"]):
    def held(self) -> ResponseQuerySet:
        return self.filter(responded_at__isnull=True)

    def due(self, at: datetime) -> ResponseQuerySet:
        """Returns held answers whose hold is over. Index: held_responses."""
        return self.held().filter(release_at__lte=at)

    def not_sent(self) -> ResponseQuerySet:
        return self.filter(sent_at__isnull=True)


class Response(models.Model):
    """Stores a person's answer: held, then released to the agent, then picked up by it."""

    class Status(models.TextChoices):
        APPROVED = "approved", "Approved"
        REJECTED = "rejected", "Rejected"
        REDIRECTED = "redirected", "Redirected"

    class Route(models.TextChoices):
        POLL = "poll", "Poll"
        SWEEP = "sweep", "Bulk sweep"
        CALLBACK = "webhook", "Callback"
        CONNECTOR = "machine", "Connector"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    delivery = models.OneToOneField(Delivery, on_delete=models.PROTECT, related_name="response")
    status = models.CharField(max_length=10, choices=Status)
    feedback: models.TextField[str, str] = ContentTextField(blank=True)
    edited_json: models.TextField[str | None, str | None] = ContentTextField(
        null=True
    )  # null is JSON's, as details_json
    by = models.ForeignKey(
        User, null=True, on_delete=models.SET_NULL, related_name="responses", db_index=False
    )
    by_name = models.CharField(max_length=80)
    # The version of the rule that gave it instead of a person; `by_name` names the rule.
    rule_version = models.ForeignKey(
        AnsweringVersion,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    # What the agent is told of the votes, as JSON; empty where one approval was enough.
    quorum_json = models.TextField(blank=True, default="", db_default="")
    # Where it was given, and whether everything that the agent sent was in sight there. The first
    # is empty and the second null for answers of earlier versions. The second is null for a rule,
    # too: no person read anything. `left_out` says what was not in sight.
    place = models.CharField(max_length=8, choices=Place, blank=True, default="", db_default="")
    all_in_sight = models.BooleanField(null=True)
    left_out: models.TextField[str, str] = ContentTextField(blank=True, default="", db_default="")

    answered_at = models.DateTimeField(default=database_now)
    release_at = models.DateTimeField()
    responded_at = models.DateTimeField(null=True)
    # Stamped before the answer leaves: from then on it cannot be taken back.
    sent_at = models.DateTimeField(null=True)
    picked_up_at = models.DateTimeField(null=True)
    picked_up_by = models.CharField(max_length=7, choices=Route, blank=True)

    objects = ResponseQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(edited_json__isnull=True) | Q(status="redirected"),
                name="edited_only_when_redirected",
            ),
            models.CheckConstraint(
                condition=Q(sent_at__isnull=True) | Q(responded_at__isnull=False),
                name="sent_only_when_released",
            ),
        ]
        indexes = [
            models.Index(
                fields=["release_at"],
                condition=Q(responded_at__isnull=True),
                name="held_responses",
            ),
            models.Index(fields=["by", "-answered_at"], name="answers_of_a_person"),
        ]

    def __str__(self) -> str:
        return f"{self.get_status_display()} by {self.by_name}"

    @property
    def edited_content(self) -> Any:
        """Returns a dict, a str or None."""
        return None if self.edited_json is None else json.loads(self.edited_json)

    @property
    def approvers(self) -> list[str]:
        """Returns the names of those who approved together; empty where one approval was
        enough."""
        decisions = json.loads(self.quorum_json)["decisions"] if self.quorum_json else []
        return [each["by"] for each in decisions if each["status"] == self.Status.APPROVED]

    @property
    def is_late(self) -> bool:
        """Returns whether it was given after the deadline; `delivery` must be loaded."""
        return self.delivery.is_past_deadline(self.answered_at)


class Draft(models.Model):
    """Saves an answer that a person took back, for them alone."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="drafts")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    feedback: models.TextField[str, str] = ContentTextField(blank=True)
    edited_json: models.TextField[str | None, str | None] = ContentTextField(
        null=True
    )  # null is JSON's, as details_json
    saved_at = models.DateTimeField(default=database_now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["delivery", "user"], name="one_draft_a_person")
        ]

    def __str__(self) -> str:
        return f"Draft of {self.user}"
