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
    """Stores a person's answer, which is first held, then released to the agent, then picked up by
    the agent."""

    class Status(models.TextChoices):
        APPROVED = "approved", "Approved"
        REJECTED = "rejected", "Rejected"
        REDIRECTED = "redirected", "Redirected"

    class Route(models.TextChoices):
        POLL = "poll", "Poll"
        SWEEP = "sweep", "Bulk sweep"
        CALLBACK = "webhook", "Callback"
        CONNECTOR = "machine", "Connector"
        CLAIM = "claim", "Claim"
        OUTCOME = "outcome", "Outcome"
        RECEIPT = "receipt", "Receipt"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    delivery = models.OneToOneField(Delivery, on_delete=models.PROTECT, related_name="response")
    status = models.CharField(max_length=10, choices=Status)
    feedback: models.TextField[str, str] = ContentTextField(blank=True)
    edited_json: models.TextField[str | None, str | None] = ContentTextField(
        null=True
    )  # NULL stands for JSON's null, as in details_json
    by = models.ForeignKey(
        User, null=True, on_delete=models.SET_NULL, related_name="responses", db_index=False
    )
    by_name = models.CharField(max_length=80)
    # The version of the rule that answered instead of a person; `by_name` then names the rule.
    rule_version = models.ForeignKey(
        AnsweringVersion,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    # The votes as the agent receives them, as JSON; empty if one approval was enough.
    quorum_json = models.TextField(blank=True, default="", db_default="")
    # The place of the answer, and whether everything that the agent sent was in sight there.
    # Answers of earlier versions have an empty place and a null sight. A rule's answer also has a
    # null sight, because no person read anything. `left_out` lists the parts that were not in
    # sight.
    place = models.CharField(max_length=8, choices=Place, blank=True, default="", db_default="")
    all_in_sight = models.BooleanField(null=True)
    left_out: models.TextField[str, str] = ContentTextField(blank=True, default="", db_default="")
    # Three facts about the person: the methods by which they were signed in (values of `amr` in RFC
    # 8176, with spaces between), when they last used a method, and when they first opened the
    # delivery's page before the answer. These columns are empty where Wake does not know the facts:
    # for rules, for Slack, and in rows of earlier versions.
    amr = models.CharField(max_length=20, blank=True, default="", db_default="")
    auth_time = models.DateTimeField(null=True)
    opened_at = models.DateTimeField(null=True)

    # The signature of the person's passkey, as JSON (wake/proof/signatures.py). The signature is
    # empty if the person signed nothing. It is also empty for an approval of several people,
    # because their votes have the signatures.
    signature_json: models.TextField[str, str] = ContentTextField(
        blank=True, default="", db_default=""
    )

    answered_at = models.DateTimeField(default=database_now)
    release_at = models.DateTimeField()
    responded_at = models.DateTimeField(null=True)
    # Stamped before the answer is sent. The answer cannot be taken back afterwards.
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
        """Returns the person's edit: an object as a dict, a text, or None without an edit."""
        return None if self.edited_json is None else json.loads(self.edited_json)

    def is_due(self, at: datetime) -> bool:
        """Returns whether the answer is held, and its hold is over."""
        return self.responded_at is None and self.release_at <= at

    @property
    def is_of_votes(self) -> bool:
        """Returns whether the votes of several people made the answer. One person decides if one
        approval is enough, and one person rejects or redirects."""
        return bool(self.quorum_json) and self.status == self.Status.APPROVED

    @property
    def approvers(self) -> list[str]:
        """Returns the names of the people who approved together, or an empty list if one approval
        was enough."""
        decisions = json.loads(self.quorum_json)["decisions"] if self.quorum_json else []
        return [each["by"] for each in decisions if each["status"] == self.Status.APPROVED]

    @property
    def is_final(self) -> bool:
        """Returns whether the answer can never be taken back, because the agent has picked it up or
        its callback was sent. A sender that has claimed a callback for the first time can still
        give it back unsent, so `sent_at` alone does not prove that an answer is final. A callback
        that was given up without a stored attempt may have been sent by a process that was
        killed."""
        if self.picked_up_at is not None:
            return True
        callback: Any = getattr(self, "callback", None)
        may_be_given_back = callback and callback.lease and callback.given_up_at is None
        is_first_try = may_be_given_back and not callback.attempts.exists()
        return self.sent_at is not None and not is_first_try

    @property
    def is_late(self) -> bool:
        """Returns whether the answer was given after the deadline. `delivery` must be loaded."""
        return self.delivery.is_past_deadline(self.answered_at)


class DraftQuerySet(models.QuerySet["Draft"]):
    def keep(
        self, delivery: Any, user: User, *, feedback: str, edited_json: str | None, at: datetime
    ) -> Draft:
        """Saves the draft of this person. The caller has locked the delivery, so that retention
        erases the draft, too."""
        draft, _ = self.update_or_create(
            delivery=delivery,
            user=user,
            defaults={"feedback": feedback, "edited_json": edited_json, "saved_at": at},
        )
        return draft


class Draft(models.Model):
    """Stores an answer that a person took back, or has not signed yet. Only this person sees it."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="drafts")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    feedback: models.TextField[str, str] = ContentTextField(blank=True)
    edited_json: models.TextField[str | None, str | None] = ContentTextField(
        null=True
    )  # NULL stands for JSON's null, as in details_json
    saved_at = models.DateTimeField(default=database_now)

    objects = DraftQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["delivery", "user"], name="one_draft_a_person")
        ]

    def __str__(self) -> str:
        return f"Draft of {self.user}"
