"""Defines where callers want pushes about their tasks, and which pushes were sent."""

from __future__ import annotations

import uuid

from django.db import models

from database.encrypted_columns import ContentTextField
from relay.models.tasks import Task
from wake.models import Callback


class PushConfig(models.Model):
    """Stores a caller's address for one task (A2A, "PushNotificationConfig"). Token and credentials
    are encrypted, and no answer contains them."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="push_configs")
    config_id = models.CharField(max_length=128)
    url: models.TextField[str, str] = ContentTextField()
    # Ciphertexts of database/encryption.py, regardless of WAKE_ENCRYPT_CONTENT; empty if the caller
    # gave none.
    token_ciphertext = models.TextField(blank=True)
    scheme = models.CharField(max_length=40, blank=True)
    credentials_ciphertext = models.TextField(blank=True)
    wire_version = models.CharField(max_length=4)
    # The config gets the events after this generation of the task.
    after_generation = models.PositiveIntegerField(default=0, db_default=0)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["task", "config_id"], name="one_push_config_an_id")
        ]

    def __str__(self) -> str:
        return self.config_id


class PushNotification(models.Model):
    """Records that one generation of a task was sent to one config. The record's callback is the
    queue and has the attempts."""

    # The config may be deleted, but the record stays.
    config = models.ForeignKey(
        PushConfig, null=True, on_delete=models.SET_NULL, related_name="notifications"
    )
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="notifications")
    generation = models.PositiveIntegerField()
    callback = models.OneToOneField(Callback, on_delete=models.CASCADE, related_name="push")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["config", "generation"], name="one_push_a_generation_of_a_config"
            )
        ]

    def __str__(self) -> str:
        return f"{self.task_id} at {self.generation}"
