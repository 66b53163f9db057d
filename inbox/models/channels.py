"""Defines where people and teams want to be notified, which events they want, and which events are
due."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.db import models
from django.db.models import Q

from accounts.models import SINGLE_LINE, Agent, Team, User
from database.encrypted_columns import SecretTextField
from database.follower import ReadUntil
from inbox.models.quiet_hours import BOTH_ENDS_OR_NONE, HasQuietHours
from wake.models import Delivery


class ChannelEvent(models.TextChoices):
    """Lists the events that a channel can send. The last two are about the channel itself."""

    QUESTION = "question", "Questions and outputs that wait for an answer"
    ALERT = "alert", "Alerts"
    CLOSING = "closing", "Deadlines that are close"
    ASSUMED = "assumed", "Agents that went ahead without an answer"
    FAILED = "failed", "Actions that failed after approval"
    ASSIGNED = "assigned", "Deliveries assigned to me"
    MENTION = "mention", "Comments that mention me"
    DIGEST = "digest", "The digest"
    CODE = "code", "The code that verifies the channel"
    TEST = "test", "A test"


class ChannelQuerySet(models.QuerySet["Channel"]):
    def of(self, user: User) -> ChannelQuerySet:
        """Returns the person's own channels and their teams' channels."""
        return self.filter(Q(user=user) | Q(team__memberships__user=user))

    def working(self) -> ChannelQuerySet:
        """Returns the verified channels that are not suspended."""
        return self.filter(verified_at__isnull=False, suspended_at__isnull=True)


class Channel(models.Model):
    """Stores where a person or a team wants to be notified."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, null=True, on_delete=models.CASCADE, related_name="channels")
    team = models.ForeignKey(Team, null=True, on_delete=models.CASCADE, related_name="channels")
    # The name of one of the modules in inbox/notifications/channels/kinds/.
    kind = models.CharField(max_length=16)
    name = models.CharField(max_length=40, validators=[SINGLE_LINE])
    # The address in the form of the channel's kind: a URL, or a JSON text. The field is empty for a
    # person's own e-mail address.
    address: models.TextField[str, str] = SecretTextField(blank=True)
    # Another value that the channel's kind needs: a token, or the secret for signatures.
    secret: models.TextField[str, str] = SecretTextField(blank=True)
    added_by = models.ForeignKey(
        User, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    created_at = models.DateTimeField()
    verified_at = models.DateTimeField(null=True)
    # The code is computed from this time (inbox/notifications/channels/channels.py).
    code_sent_at = models.DateTimeField(null=True)
    code_tries = models.PositiveSmallIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    failures = models.PositiveSmallIntegerField(default=0)
    # Nothing is sent before this time, because the last attempt failed.
    retry_at = models.DateTimeField(null=True)
    suspended_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=200, blank=True)

    objects = ChannelQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=False, team__isnull=True)
                | Q(user__isnull=True, team__isnull=False),
                name="channels_are_a_persons_or_a_teams",
            )
        ]

    def __str__(self) -> str:
        return self.name


class NotificationRule(HasQuietHours):
    """Stores which events a channel sends. A channel sends nothing until its owner has chosen
    events."""

    channel = models.OneToOneField(
        Channel, on_delete=models.CASCADE, primary_key=True, related_name="rule"
    )
    # Values of Event.
    events = models.JSONField(default=list)
    # Ids of agents; empty for all.
    agents = models.JSONField(default=list)
    only_assigned = models.BooleanField(default=False)
    # The maximum of messages an hour; null means no limit. Only a team's channel has this limit and
    # quiet hours of its own. A person has one limit and one set of quiet hours for all of their
    # channels (Preferences, batches.py).
    most_an_hour = models.PositiveSmallIntegerField(null=True)
    # The channel sends nothing about earlier deliveries.
    since = models.DateTimeField()
    next_digest_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=BOTH_ENDS_OR_NONE,
                name="quiet_hours_of_channels_have_both_ends",
            )
        ]
        indexes = [
            models.Index(
                fields=["next_digest_at"],
                condition=Q(next_digest_at__isnull=False),
                name="digests_of_channels_due",
            )
        ]

    def __str__(self) -> str:
        return f"Rule of {self.channel_id}"


class NotificationQuerySet(models.QuerySet["Notification"]):
    def due(self, at: datetime) -> NotificationQuerySet:
        """Returns the most overdue notifications first. Index: notifications_due."""
        return self.filter(due_at__lte=at).order_by("due_at")


class Notification(models.Model):
    """Stores one event to send through one channel. A channel's waiting notifications become one
    message. The row locks neither a delivery nor a channel. So writing the row waits for no lock,
    and a comment is stored even if a channel is removed meanwhile."""

    class Outcome(models.TextChoices):
        WAITING = "", "Waiting"
        SENT = "sent", "Sent"
        SEEN = "seen", "Opened or answered before"
        GONE = "gone", "No longer theirs, erased, or replaced"
        FAILED = "failed", "Not sent"

    id = models.BigAutoField(primary_key=True)
    channel = models.ForeignKey(
        Channel,
        on_delete=models.CASCADE,
        related_name="notifications",
        db_constraint=False,
        db_index=False,
    )
    event = models.CharField(max_length=8, choices=ChannelEvent)
    delivery = models.ForeignKey(
        Delivery,
        null=True,
        on_delete=models.CASCADE,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    # Distinguishes two notifications of one event: the id of the delivery, of the mention or of the
    # outcome, or a time.
    key = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    # When to send the notification. While a worker sends the notification, this is when another
    # worker may try. Null when the notification is settled.
    due_at = models.DateTimeField(null=True)
    # The message with which the notification was last sent, and the time.
    message_id = models.UUIDField(null=True)
    claimed_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=6, choices=Outcome, default=Outcome.WAITING, blank=True)

    objects = NotificationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["channel", "event", "key"], name="one_notification_of_one_thing"
            )
        ]
        indexes = [
            models.Index(
                fields=["due_at"], condition=Q(due_at__isnull=False), name="notifications_due"
            ),
            models.Index(fields=["channel", "claimed_at"], name="messages_of_a_channel"),
            models.Index(
                fields=["created_at"],
                condition=Q(due_at__isnull=True),
                name="settled_notifications",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} for {self.channel_id}"


class NotedUntil(ReadUntil):
    """Marks how far an agent's deliveries were read for notifications."""

    agent = models.OneToOneField(
        Agent,
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="noted_until",
        db_constraint=False,
    )
