"""Removes blobs that no delivery used in time, and blobs whose last delivery was erased."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from database import sweeps
from wake.models import Attachment, UploadedBlob

ROWS_AT_ONCE = 500


def remove_unused(*, at: datetime) -> int:
    """Removes blobs that no delivery used before they expired; returns how many. If a blob was
    uploaded again while a delivery already had it, the blob is kept for that delivery."""
    due = UploadedBlob.objects.expired(at).only("pk").order_by("expires_at")
    return sweeps.sweep_together(due, _remove, what="unused blobs", at_once=ROWS_AT_ONCE)


def remove_with(delivery_ids: Collection[UUID]) -> None:
    """Detaches the blobs of erased deliveries, and removes blobs that no other delivery has. A blob
    that was uploaded again lately stays until it expires. Runs in the transaction of the
    erasure."""
    attachments = Attachment.objects.filter(delivery__in=delivery_ids)
    ids = set(attachments.values_list("blob", flat=True))
    if not ids:
        return
    attachments.delete()
    blobs = UploadedBlob.objects.filter(pk__in=ids)
    list(blobs.select_for_update(of=("self",)).order_by("pk").values_list("pk"))
    # Checked after the lock, because a new delivery may have attached a blob before.
    blobs.filter(expires_at__isnull=True).unused().delete()


def _remove(locked: Sequence[UploadedBlob]) -> int:
    blobs = UploadedBlob.objects.filter(pk__in=[blob.pk for blob in locked])
    count, _ = blobs.unused().delete()
    blobs.update(expires_at=None)
    return count
