"""Defines passkeys, what is mailed about them, and the challenges that were used."""

from __future__ import annotations

import uuid

from django.db import models

from accounts.models.people import User
from database.clock import database_now
from pages.characters.names import SINGLE_LINE, visible


class PasskeyQuerySet(models.QuerySet["Passkey"]):
    def of(self, user: User) -> PasskeyQuerySet:
        return self.filter(user=user).order_by("created_at", "pk")


class Passkey(models.Model):
    """Stores the public half of a key pair whose other half is in a person's device or password
    manager (WebAuthn Level 3, 4)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="passkeys")
    name = models.CharField(max_length=80, validators=[SINGLE_LINE, visible])
    credential_id = models.BinaryField(max_length=1023, unique=True)
    public_key = models.BinaryField()
    # Increases with each use; stays 0 for passkeys that several devices share.
    sign_count = models.BigIntegerField(default=0, editable=False)
    # How browsers reach the device: `internal`, `usb`, `hybrid` and others.
    transports = models.JSONField(default=list, editable=False)
    is_multi_device = models.BooleanField(default=False, editable=False)
    is_backed_up = models.BooleanField(default=False, editable=False)
    created_at = models.DateTimeField(default=database_now)
    last_used_at = models.DateTimeField(null=True, editable=False)

    objects = PasskeyQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name


class PasskeyNotice(models.Model):
    """Tells a person by mail what happened to one of their passkeys."""

    class Kind(models.TextChoices):
        ADDED = "added"
        REMOVED = "removed"
        COPIED = "copied"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind)
    passkey = models.CharField(max_length=80)
    # The address at that time, which may change before the mail leaves.
    email = models.EmailField()
    happened_at = models.DateTimeField()
    due_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"Passkey {self.kind}"


class UsedChallenge(models.Model):
    """Remembers that a challenge was used, until it has expired anyway
    (accounts/passkeys/challenges.py)."""

    digest = models.CharField(max_length=64, primary_key=True)
    used_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"Challenge {self.digest[:8]}"
