"""Defines the data that belongs to one person: readings, snoozes, saved replies and reminders."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from django.db import models

from accounts.models import SINGLE_LINE, User
from database.encrypted_columns import ContentTextField
from wake.models import Delivery, Response


class ReadingQuerySet(models.QuerySet["Reading"]):
    def read(self) -> ReadingQuerySet:
        """Leaves out deliveries that the person has marked as unread."""
        return self.filter(marked_unread_at__isnull=True)


class Reading(models.Model):
    """Records when a person first opened a delivery, until when the person counts as reading it,
    and whether the person has marked it as unread since."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="readings")
    opened_at = models.DateTimeField()
    reading_until = models.DateTimeField(null=True)
    # The time of the first opening stays, because answers and receipts name that time. Opening the
    # delivery again sets this to null.
    marked_unread_at = models.DateTimeField(null=True)

    objects = ReadingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "delivery"], name="one_reading_a_person")
        ]

    def __str__(self) -> str:
        return f"{self.delivery} opened by {self.user}"


class SnoozeQuerySet(models.QuerySet["Snooze"]):
    def of(self, user: User, *, at: datetime) -> SnoozeQuerySet:
        """Returns this person's snoozes that are not over yet. Index: snoozed_now."""
        return self.filter(user=user, until__gt=at)

    def delivery_ids(self) -> models.QuerySet[Snooze, Any]:
        return self.order_by().values("delivery")


class Snooze(models.Model):
    """Hides a delivery from one person until a chosen time; it stays in the inbox of everyone
    else."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="snoozes")
    until = models.DateTimeField()

    objects = SnoozeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "delivery"], name="one_snooze_a_person")
        ]
        indexes = [models.Index(fields=["user", "until", "delivery"], name="snoozed_now")]

    def __str__(self) -> str:
        return f"{self.delivery} later for {self.user}"


class SavedReplyQuerySet(models.QuerySet["SavedReply"]):
    def of(self, user: User) -> SavedReplyQuerySet:
        return self.filter(user=user).order_by("status", "name")


class SavedReply(models.Model):
    """Stores a person's own saved reply: feedback that goes with one kind of answer."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    status = models.CharField("goes with", max_length=10, choices=Response.Status)
    name = models.CharField(max_length=40, validators=[SINGLE_LINE])
    text = ContentTextField(max_length=2_000)

    objects = SavedReplyQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "status", "name"], name="one_name_a_phrase")
        ]
        db_table = "inbox_preset"
        verbose_name_plural = "saved replies"

    def __str__(self) -> str:
        return self.name


class Reminder(models.Model):
    """Records that a person was reminded of a deadline. A person is reminded of each deadline
    once."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="+")
    sent_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "delivery"], name="one_last_call_a_person")
        ]
        db_table = "inbox_lastcall"

    def __str__(self) -> str:
        return f"Reminder of {self.delivery} for {self.user}"
