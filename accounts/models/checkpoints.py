"""Defines the checkpoints of the log, the keys that sign them, and where they are sent."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from accounts.models.key_pairs import KeyPair


class LogKey(KeyPair):
    """Stores a key pair that signs checkpoints. `name` is the origin of the log. The verifier key
    contains this name."""

    name = models.CharField(max_length=300, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["is_current"], condition=Q(is_current=True), name="one_current_log_key"
            )
        ]


class LogCheckpoint(models.Model):
    """Stores one checkpoint: the signed size and root of the log (c2sp.org/tlog-checkpoint)."""

    size = models.BigIntegerField(primary_key=True)
    # The hash of the whole tree of this size, in hexadecimal.
    root = models.CharField(max_length=64)
    # The signed note, without cosignatures.
    note = models.TextField()
    made_at = models.DateTimeField()

    class Meta:
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"Checkpoint of {self.size} entries"


class CheckpointSending(models.Model):
    """Says that a checkpoint must be sent to a destination. The row is due until the checkpoint
    arrived, or can never arrive."""

    class Kind(models.TextChoices):
        GIT = "git", "Git remote"
        TIMESTAMP = "timestamp", "Time stamp"
        WEBHOOK = "webhook", "Webhook"
        WITNESS = "witness", "Witness"

    id = models.BigAutoField(primary_key=True)
    checkpoint = models.ForeignKey(
        LogCheckpoint, on_delete=models.PROTECT, related_name="sendings", db_index=False
    )
    kind = models.CharField(max_length=9, choices=Kind)
    # The name of the witness. The name is empty for the other kinds, because each of them has only
    # one destination.
    name = models.CharField(max_length=300, blank=True)
    due_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    error = models.CharField(max_length=200, blank=True)
    # The cosignature lines of a witness, the id of the commit, or a time stamp. A time stamp is the
    # response of RFC 3161 in base64.
    result = models.TextField(blank=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["checkpoint", "kind", "name"], name="one_sending_a_destination"
            )
        ]
        indexes = [
            models.Index(
                fields=["due_at"], condition=Q(due_at__isnull=False), name="due_checkpoints"
            ),
            models.Index(fields=["kind", "name", "checkpoint"], name="checkpoints_of_a_kind"),
        ]
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.name} of {self.checkpoint_id}".replace("  ", " ")
