"""Defines passkeys, the mails about them, and the challenges that were used."""

from __future__ import annotations

import uuid

from django.db import models

from accounts.models.people import Membership, Team, User
from database.clock import database_now
from pages.characters.names import SINGLE_LINE, visible


class PasskeyQuerySet(models.QuerySet["Passkey"]):
    def of(self, user: User) -> PasskeyQuerySet:
        return self.filter(user=user).order_by("created_at", "pk")

    def that_answer_in(self, team: Team | int) -> PasskeyQuerySet:
        """Returns the passkeys of the people who may answer in the team."""
        able = Membership.objects.that_answer().filter(team=team)
        return self.filter(user__in=able.values("user"))


class Passkey(models.Model):
    """Stores the public half of a key pair whose other half is in a person's device or password
    manager (WebAuthn Level 3, 4)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="passkeys")
    name = models.CharField(max_length=80, validators=[SINGLE_LINE, visible])
    credential_id = models.BinaryField(max_length=1023, unique=True)
    public_key = models.BinaryField()
    # The count of uses that the device sent last. The count stays 0 for passkeys that several
    # devices share.
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
    """Stores a mail that notifies a person about a change of one of their passkeys."""

    class Kind(models.TextChoices):
        ADDED = "added"
        REMOVED = "removed"
        COPIED = "copied"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind)
    passkey = models.CharField(max_length=80)
    # The person's address when the event happened. The address may change before the mail is sent.
    email = models.EmailField()
    happened_at = models.DateTimeField()
    due_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"Passkey {self.kind}"


class UsedChallenge(models.Model):
    """Remembers that a challenge was used, until it has expired anyway
    (accounts/sign_in/passkeys/challenges.py)."""

    digest = models.CharField(max_length=64, primary_key=True)
    used_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"Challenge {self.digest[:8]}"
