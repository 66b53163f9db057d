"""Defines the files that are stored as rows. Their bytes are content, so the bytes are encrypted
and erased like other content (docs/decisions/0050-files-are-rows.md)."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import Exists, OuterRef, Q, Sum

from accounts.models import Agent, ApiKey, Team
from database.encrypted_columns import ContentBinaryField
from wake.models.deliveries import Delivery

# The media type (RFC 9110, 8.3.1) without its parameters.
MEDIA_TYPE = re.compile(r"[\w.+-]{1,63}/[\w.+-]{1,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class File:
    """Holds a file that a browser downloads."""

    filename: str
    media_type: str
    content: bytes


class StoredFile(models.Model):
    """Defines the columns of every row that stores a file: blobs of deliveries here, and files of
    tasks in the relay."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveIntegerField()
    media_type = models.CharField(max_length=128, blank=True)
    content = ContentBinaryField()
    created_at = models.DateTimeField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.sha256[:12]} ({self.size} bytes)"


class UploadedBlobQuerySet(models.QuerySet["UploadedBlob"]):
    def of_agent(self, agent: Agent, mode: str) -> UploadedBlobQuerySet:
        return self.filter(agent=agent, mode=mode)

    def bytes_by_team(self, team_ids: Collection[int]) -> dict[int, int]:
        """Returns the size of each team's files in bytes. Index: blob_bytes_of_a_team."""
        sums = self.filter(team__in=team_ids).order_by().values_list("team").annotate(Sum("size"))
        return dict(sums)

    def expired(self, at: datetime) -> UploadedBlobQuerySet:
        """Returns blobs that have expired. A delivery may still use them. Index:
        blobs_to_expire."""
        return self.filter(expires_at__lte=at)

    def unused(self) -> UploadedBlobQuerySet:
        return self.filter(~Exists(Attachment.objects.filter(blob=OuterRef("pk"))))

    def without_content(self) -> UploadedBlobQuerySet:
        return self.defer("content")


class UploadedBlob(StoredFile):
    """Stores a file that an agent uploaded. A picture is written again before it is stored. So its
    `sha256` differs from the hash of the uploaded file, which is in `uploaded_sha256`."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+", db_index=False)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=ApiKey.Mode)
    uploaded_sha256 = models.CharField(max_length=64)
    is_picture = models.BooleanField()
    is_animated = models.BooleanField(default=False)
    width = models.PositiveIntegerField(null=True)
    height = models.PositiveIntegerField(null=True)
    # How long the blob stays while no delivery has it. Null once a delivery has it.
    expires_at = models.DateTimeField(null=True)

    objects = UploadedBlobQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "mode", "uploaded_sha256", "is_picture"], name="one_blob_a_file"
            ),
            models.CheckConstraint(
                condition=Q(is_picture=False, width__isnull=True, height__isnull=True)
                | Q(is_picture=True, width__gte=1, height__gte=1),
                name="pictures_have_a_size",
            ),
        ]
        indexes = [
            models.Index(fields=["team", "size"], name="blob_bytes_of_a_team"),
            models.Index(
                fields=["expires_at"],
                condition=Q(expires_at__isnull=False),
                name="blobs_to_expire",
            ),
        ]


class AttachmentQuerySet(models.QuerySet["Attachment"]):
    def for_person(self, user: Any) -> AttachmentQuerySet:
        return self.filter(delivery__team__memberships__user=user)

    def of_delivery(self, delivery_id: uuid.UUID) -> AttachmentQuerySet:
        """Returns attachments with their blobs, whose content is loaded only when it is read."""
        rows = self.filter(delivery=delivery_id)
        return rows.select_related("blob").defer("blob__content")

    def with_picture(self, sha256: str) -> AttachmentQuerySet:
        return self.filter(blob__is_picture=True, blob__sha256=sha256)


class Attachment(models.Model):
    """Records that a delivery shows a blob. The blob stays while any delivery has it."""

    delivery: models.ForeignKey[Any, Any] = models.ForeignKey(
        Delivery, on_delete=models.CASCADE, related_name="attachments", db_index=False
    )
    # No deletion cascades to blobs. wake/blobs/removal.py deletes a blob only if the blob has no
    # attachments, in one statement that need not load its content.
    blob: models.ForeignKey[Any, Any] = models.ForeignKey(
        UploadedBlob, on_delete=models.DO_NOTHING, related_name="attachments"
    )

    objects = AttachmentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["delivery", "blob"], name="one_attachment_a_delivery")
        ]

    def __str__(self) -> str:
        return f"{self.blob_id} of {self.delivery_id}"
