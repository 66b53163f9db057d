"""Defines what belongs to one person (readings, snoozes, saved replies, preferences), what people
say to each other about a delivery, and the index of search."""

from __future__ import annotations

import uuid
from datetime import datetime, time
from typing import Any

from django.db import models
from django.db.models import Q

from accounts.models import SINGLE_LINE, Agent, User
from database.encrypted_columns import ContentTextField
from inbox.search.words import LONGEST_WORD, TimeBucketsField, WordsField
from wake.models import Delivery, Response

EVERY_DAY = "0123456"


class Reading(models.Model):
    """Records when a person first opened a delivery, and until when they count as reading it."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="readings")
    opened_at = models.DateTimeField()
    reading_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "delivery"], name="one_reading_a_person")
        ]

    def __str__(self) -> str:
        return f"{self.delivery} opened by {self.user}"


class SnoozeQuerySet(models.QuerySet["Snooze"]):
    def of(self, user: User, *, at: datetime) -> SnoozeQuerySet:
        """Returns what this person snoozed and is not back yet. Index: snoozed_now."""
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
    """Records that a person was reminded of a deadline, which happens once."""

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


class Comment(models.Model):
    """Stores what a person of the team wrote about a delivery to the others; agents never read
    it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    delivery = models.ForeignKey(
        Delivery, on_delete=models.CASCADE, related_name="comments", db_index=False
    )
    author = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    author_name = models.CharField(max_length=80)
    # Empty after it was removed, and after the content of the delivery was erased.
    text = ContentTextField(max_length=4_000)
    written_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["delivery", "written_at"], name="comments_on_a_delivery"),
        ]

    def __str__(self) -> str:
        return f"Comment of {self.author_name} on {self.delivery_id}"


class MentionQuerySet(models.QuerySet["Mention"]):
    def unseen(self) -> MentionQuerySet:
        """Returns what the mentioned person has not seen. Index: unseen_mentions."""
        return self.filter(seen_at__isnull=True)


class Mention(models.Model):
    """Records that a comment mentions a person, and when they first saw it."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="+")
    comment = models.ForeignKey(Comment, on_delete=models.CASCADE, related_name="mentions")
    seen_at = models.DateTimeField(null=True)

    objects = MentionQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["user", "-id"], name="mentions_of_a_person"),
            models.Index(
                fields=["user", "delivery"],
                condition=Q(seen_at__isnull=True),
                name="unseen_mentions",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.comment}"


class PreferencesQuerySet(models.QuerySet["Preferences"]):
    def digests_due(self, at: datetime) -> PreferencesQuerySet:
        """Returns the longest overdue first. Index: digests_due."""
        return self.filter(next_digest_at__lte=at, user__is_active=True).order_by("next_digest_at")

    def without_a_plan(self) -> PreferencesQuerySet:
        """Returns rows that want a digest and have no due time yet. Index: digests_unplanned."""
        return self.filter(next_digest_at__isnull=True).exclude(digest=Preferences.Digest.NEVER)


class Preferences(models.Model):
    """Stores how a person wants pages to look and behave, and when to get digests."""

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
    quiet_from = models.TimeField(null=True)
    quiet_until = models.TimeField(null=True)
    quiet_days = models.CharField(max_length=7, default=EVERY_DAY)
    wants_reminders = models.BooleanField(default=False, db_column="wants_last_calls")

    # When the next digest is due or, while a worker sends it, when another may try: the row is the
    # queue.
    next_digest_at = models.DateTimeField(null=True, editable=False)
    digest_sent_at = models.DateTimeField(null=True, editable=False)
    digest_failures = models.PositiveSmallIntegerField(default=0, editable=False)
    digest_error = models.CharField(max_length=200, blank=True, editable=False)
    reminded_at = models.DateTimeField(null=True, editable=False, db_column="last_called_at")

    objects = PreferencesQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(quiet_from__isnull=True, quiet_until__isnull=True)
                | Q(quiet_from__isnull=False, quiet_until__isnull=False),
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


class Searchable(models.Model):
    """Stores the words of one delivery. They are written after its commit, so that no content can
    make a delivery slow or fail. The row locks no delivery, so indexing waits for nothing."""

    id = models.BigAutoField(primary_key=True)
    delivery = models.OneToOneField(
        Delivery, on_delete=models.CASCADE, related_name="searchable", db_constraint=False
    )
    words = WordsField()
    time_buckets = TimeBucketsField(db_column="shelves")

    def __str__(self) -> str:
        return f"Words of {self.delivery_id}"


class Word(models.Model):
    """Stores a word that search has indexed, on PostgreSQL only (inbox/search/vocabulary.py)."""

    text = models.CharField(primary_key=True, max_length=LONGEST_WORD)

    def __str__(self) -> str:
        return self.text


class IndexedUntil(models.Model):
    """Marks how far search has indexed an agent's deliveries: the last activity stamp, in
    microseconds since 1970. Every writer of an agent's words locks this row."""

    agent = models.OneToOneField(
        Agent,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="indexed_until",
        db_constraint=False,
    )
    activity_us = models.BigIntegerField(default=0)
    # Whether details and answers are indexed, which they are not while they are encrypted; and up
    # to where everything is indexed again, because encryption was switched.
    has_content = models.BooleanField(default=True, db_default=True)
    again_until_us = models.BigIntegerField(default=0, db_default=0)

    def __str__(self) -> str:
        return f"{self.agent_id} until {self.activity_us}"

    def restart(self, *, has_content: bool) -> None:
        """Indexes everything again, because encryption was switched."""
        self.has_content = has_content
        self.again_until_us = max(self.again_until_us, self.activity_us)
        self.activity_us = 0
