"""The rows of the audit: what happened, and the seals that say that nothing of it was changed."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class AuditEvent(models.Model):
    """Who did what to what. It copies ids and names and points at nothing, so nothing can hold or
    change it."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(default=timezone.now)
    team_id = models.BigIntegerField(null=True)
    event = models.CharField(max_length=40)
    actor_kind = models.CharField(max_length=8)
    actor_id = models.CharField(max_length=64, blank=True)
    actor_name = models.CharField(max_length=150, blank=True)
    object_kind = models.CharField(max_length=20)
    object_id = models.CharField(max_length=64)
    object_name = models.CharField(max_length=150, blank=True)
    address = models.CharField(max_length=45, blank=True)
    detail = models.JSONField(default=dict)

    class Meta:
        indexes = [
            models.Index(fields=["team_id", "-at", "-id"], name="audit_of_a_team_by_time"),
            models.Index(fields=["object_id", "id"], name="audit_of_an_object"),
        ]
        # Nobody changes or removes what happened, in the admin neither.
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.actor_name} {self.event} {self.object_name}"


class AuditSeal(models.Model):
    """One link of a chain of events: each says what all before it were (accounts/seals.py)."""

    event_id = models.BigIntegerField(unique=True)
    # The id of the team; 0 for what belongs to none, such as sign-ins.
    chain = models.BigIntegerField()
    position = models.BigIntegerField()
    hash = models.CharField(max_length=64)
    sealed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chain", "position"], name="one_seal_a_position")
        ]
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.position} of {self.chain}: {self.hash}"


class AuditHead(models.Model):
    """Where a chain ends, as whoever sealed it last knew."""

    chain = models.BigIntegerField(primary_key=True)
    position = models.BigIntegerField()
    hash = models.CharField(max_length=64)
    sealed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.position}:{self.hash}"


class SealedUntil(models.Model):
    """The one row that says up to which event everything is sealed; whoever seals holds it."""

    event_id = models.BigIntegerField(default=0)
    # The newest event of some time ago, and which transactions may have been writing others then.
    candidate = models.BigIntegerField(default=0)
    writers = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"Sealed until {self.event_id}"
