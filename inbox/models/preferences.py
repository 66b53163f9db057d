"""Defines how pages look and behave for one person, and when they get mail."""

from __future__ import annotations

from datetime import datetime, time

from django.db import models
from django.db.models import Q

from accounts.models import User
from inbox.models.quiet_hours import BOTH_ENDS_OR_NONE, HasQuietHours


class PreferencesQuerySet(models.QuerySet["Preferences"]):
    def digests_due(self, at: datetime) -> PreferencesQuerySet:
        """Returns the most overdue digests first. Index: digests_due."""
        return self.filter(next_digest_at__lte=at, user__is_active=True).order_by("next_digest_at")

    def without_a_plan(self) -> PreferencesQuerySet:
        """Returns rows that want a digest and have no due time yet. Index: digests_unplanned."""
        return self.filter(next_digest_at__isnull=True).exclude(digest=Preferences.Digest.NEVER)


class Preferences(HasQuietHours):
    """Stores how a person wants pages to look and behave, and when to send digests."""

    class Theme(models.TextChoices):
        SYSTEM = "system", "As this device"
        LIGHT = "light", "Light"
        DARK = "dark", "Dark"

    class Density(models.TextChoices):
        COMFORTABLE = "comfortable", "Comfortable"
        COMPACT = "compact", "Compact: one line for each delivery"

    class Keyboard(models.TextChoices):
        ON = "on", "On"
        FOCUSED = "focused", "Only on a focused row"
        OFF = "off", "Off"

    class AfterAnswer(models.TextChoices):
        LIST = "list", "Back to the list"
        NEXT = "next", "Open the next delivery"

    class Digest(models.TextChoices):
        NEVER = "never", "Never"
        HOURS = "hours", "Every few hours"
        DAILY = "daily", "Every day"
        WEEKLY = "weekly", "On some days of the week"

    user = models.OneToOneField(
        User, on_delete=models.CASCADE, primary_key=True, related_name="preferences"
    )
    theme = models.CharField(max_length=6, choices=Theme, default=Theme.SYSTEM)
    density = models.CharField(
        max_length=11,
        choices=Density,
        default=Density.COMFORTABLE,
        db_default=Density.COMFORTABLE,
    )
    after_answer = models.CharField(
        max_length=4,
        choices=AfterAnswer,
        default=AfterAnswer.LIST,
        db_default=AfterAnswer.LIST,
    )
    # The searches that the person pinned (inbox/search/saved_views.py).
    saved_views = models.JSONField(null=True)
    keyboard = models.CharField(max_length=7, choices=Keyboard, default=Keyboard.ON)

    digest = models.CharField(max_length=6, choices=Digest, default=Digest.DAILY)
    digest_at = models.TimeField(default=time(9))
    digest_hours = models.PositiveSmallIntegerField(default=4)
    # Weekdays as digits, Monday is 0, like date.weekday().
    digest_days = models.CharField(max_length=7, default="0")
    wants_reminders = models.BooleanField(default=False, db_column="wants_last_calls")

    # When the next digest is due. While a worker sends the digest, this is when another worker may
    # try. The row is the queue.
    next_digest_at = models.DateTimeField(null=True, editable=False)
    digest_sent_at = models.DateTimeField(null=True, editable=False)
    digest_failures = models.PositiveSmallIntegerField(default=0, editable=False)
    digest_error = models.CharField(max_length=200, blank=True, editable=False)
    reminded_at = models.DateTimeField(null=True, editable=False, db_column="last_called_at")

    objects = PreferencesQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=BOTH_ENDS_OR_NONE,
                name="quiet_hours_have_both_ends",
            )
        ]
        indexes = [
            models.Index(
                fields=["next_digest_at"],
                condition=Q(next_digest_at__isnull=False),
                name="digests_due",
            ),
            models.Index(
                fields=["user"],
                condition=Q(next_digest_at__isnull=True) & ~Q(digest="never"),
                name="digests_unplanned",
            ),
            models.Index(fields=["user"], condition=Q(wants_reminders=True), name="last_calls"),
        ]

    def __str__(self) -> str:
        return f"Preferences of {self.user}"
