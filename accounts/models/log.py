"""Defines the rows of the log: entries, and the tiles with the hashes of their Merkle tree
(accounts/log/)."""

from __future__ import annotations

import hashlib

from django.db import models
from django.db.models import Q

EMPTY_ROOT = hashlib.sha256().digest()  # RFC 9162, section 2.1.1


class LogEntry(models.Model):
    """Stores one leaf of the tree. The leaf hash covers who the entry belongs to, its number, the
    salt and the hash of its content (accounts/log/entries.py)."""

    EVENT, RECEIPT, TIPS = "event", "receipt", "tips"

    # The place in the tree, from 0.
    index = models.BigIntegerField(primary_key=True)
    # The team's id, or 0 for events without a team, such as sign-ins.
    team_id = models.BigIntegerField()
    # The entries of a team have consecutive numbers, so that the team can prove that no entry is
    # missing.
    number = models.BigIntegerField()
    kind = models.CharField(max_length=8)
    event_id = models.BigIntegerField(null=True, unique=True)
    receipt_id = models.UUIDField(null=True, unique=True)
    # 16 random bytes. Without the salt, no one can use the leaf hash to confirm a guess at the
    # content.
    salt = models.BinaryField(max_length=16)
    # The SHA-256 of the content. The content is an event, the JWT of a receipt, or tips of chains.
    sha256 = models.BinaryField(max_length=32)
    hash = models.BinaryField(max_length=32)
    appended_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team_id", "number"], name="one_entry_a_number"),
            models.CheckConstraint(
                condition=Q(kind="event", event_id__isnull=False, receipt_id__isnull=True)
                | Q(kind="receipt", event_id__isnull=True, receipt_id__isnull=False)
                | Q(kind="tips", event_id__isnull=True, receipt_id__isnull=True),
                name="entries_have_an_object_of_their_kind",
            ),
        ]
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"Entry {self.index}: number {self.number} of team {self.team_id}"


class LogTile(models.Model):
    """Has up to 256 hashes of one level of the tree (C2SP tlog-tiles)."""

    level = models.PositiveSmallIntegerField()
    index = models.BigIntegerField()
    hashes = models.BinaryField(max_length=256 * 32)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["level", "index"], name="one_tile_a_place")]
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"Tile {self.level}/{self.index}"


class LogTree(models.Model):
    """Stores the size and the root of the tree, signed, in one row
    (accounts/log/signed_tree.py)."""

    size = models.BigIntegerField(default=0)
    root = models.BinaryField(max_length=32, default=EMPTY_ROOT)
    signature = models.CharField(max_length=64, default="", blank=True)
    appended_at = models.DateTimeField(null=True)
    # The size up to which audit_verify found no error, signed too.
    verified_size = models.BigIntegerField(default=0)
    verified_root = models.BinaryField(max_length=32, default=EMPTY_ROOT)
    verified_signature = models.CharField(max_length=64, default="", blank=True)

    class Meta:
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.size}:{bytes(self.root).hex()}"


class LogTeam(models.Model):
    """Counts the entries of a team. The count continues from the chain that the team had in version
    0.2."""

    team_id = models.BigIntegerField(primary_key=True)
    number = models.BigIntegerField()

    class Meta:
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.number} of team {self.team_id}"


class LogWaiting(models.Model):
    """Makes the log's sweep append an object that is no event. The row is written in the
    transaction that makes the object."""

    kind = models.CharField(max_length=8)
    object_id = models.UUIDField(unique=True)
    team_id = models.BigIntegerField()
    sha256 = models.BinaryField(max_length=32)

    class Meta:
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.kind} {self.object_id}"
