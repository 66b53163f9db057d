"""Defines the events of the audit, and their hash chain. The signed tips and totals of the chain
reveal changes."""

from __future__ import annotations

from django.db import models

from database.clock import database_now


class AuditEvent(models.Model):
    """Records who did what to which object. The event copies ids and names instead of using foreign
    keys, so that no other row can block or change it."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(default=database_now)
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
        # The admin only shows events; triggers refuse changes (accounts/audit/append_only.py).
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.actor_name} {self.event} {self.object_name}"


class AuditEntry(models.Model):
    """Chains an event: its hash covers the event and all entries before it
    (accounts/audit/chain.py)."""

    event_id = models.BigIntegerField(unique=True)
    # The team's id, or 0 for events without a team, such as sign-ins.
    chain = models.BigIntegerField()
    position = models.BigIntegerField()
    hash = models.CharField(max_length=64)
    appended_at = models.DateTimeField(db_column="sealed_at")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chain", "position"], name="one_seal_a_position")
        ]
        default_permissions = ("view",)
        db_table = "accounts_auditseal"

    def __str__(self) -> str:
        return f"{self.position} of {self.chain}: {self.hash}"


class AuditTip(models.Model):
    """Stores the tip of an audit chain: its last position and hash, signed
    (accounts/audit/totals.py)."""

    chain = models.BigIntegerField(primary_key=True)
    position = models.BigIntegerField()
    hash = models.CharField(max_length=64)
    appended_at = models.DateTimeField(db_column="sealed_at")
    signature = models.CharField(max_length=64, default="", db_default="", blank=True)

    class Meta:
        db_table = "accounts_audithead"

    def __str__(self) -> str:
        return f"{self.position}:{self.hash}"


class AuditCheckpoint(models.Model):
    """Marks, in one row, up to which event all chains are complete. The process that extends the
    chains locks this row."""

    event_id = models.BigIntegerField(default=0)
    # The facts that an earlier run saw: the newest event, and the transactions that may still have
    # been writing older events.
    candidate = models.BigIntegerField(default=0)
    writers = models.JSONField(default=list)
    # How many chains there are, and how many events they have in total (accounts/audit/totals.py).
    chains = models.BigIntegerField(default=0, db_default=0)
    events = models.BigIntegerField(default=0, db_default=0)
    signature = models.CharField(max_length=64, default="", db_default="", blank=True)

    class Meta:
        db_table = "accounts_sealeduntil"

    def __str__(self) -> str:
        return f"Complete up to event {self.event_id}"
