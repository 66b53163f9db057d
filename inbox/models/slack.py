"""Stores which requests of Slack were seen, and which messages must be updated."""

from __future__ import annotations

from datetime import datetime

from django.db import models

from database.encrypted_columns import SecretTextField
from inbox.models.channels import Channel
from wake.models import Delivery

LONGEST_NOTE = 300


class SlackRequest(models.Model):
    """Remembers a request, so that it counts only once. A request repeated after an undo would
    answer again."""

    # SHA-256 of the signature.
    key = models.CharField(max_length=64, primary_key=True)
    received_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.key


class SlackReplyQuerySet(models.QuerySet["SlackReply"]):
    def due(self, at: datetime) -> SlackReplyQuerySet:
        return self.filter(due_at__lte=at).order_by("due_at")


class SlackReply(models.Model):
    """Stores that a message must be updated. The text is written when the update is sent, so the
    text is never out of date. Without a channel only `note` is sent, to the person who pressed."""

    url: models.TextField[str, str] = SecretTextField()
    note = models.CharField(max_length=LONGEST_NOTE, blank=True)
    # Has no constraint, so that an answer succeeds even if a channel is removed meanwhile.
    channel = models.ForeignKey(
        Channel, null=True, on_delete=models.CASCADE, related_name="+", db_constraint=False
    )
    delivery = models.ForeignKey(Delivery, null=True, on_delete=models.CASCADE, related_name="+")
    tries = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField(db_index=True)

    objects = SlackReplyQuerySet.as_manager()

    def __str__(self) -> str:
        return f"Reply {self.pk}"
