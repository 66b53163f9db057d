"""Loads the pictures and files that deliveries show, without their content."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Prefetch, prefetch_related_objects

from inbox.rendering.files import Files, shows_files
from wake.blobs.references import may_name_blobs
from wake.models import Attachment, Delivery


def files_of(delivery: Delivery) -> Files | None:
    """Returns the files of a delivery, or None if its details show no files. Makes a query only if
    the details name a blob that was not loaded before."""
    if not shows_files(delivery.details_json):
        return None
    load([delivery])
    is_loaded = may_name_blobs(delivery.details_json)
    attachments = delivery.attachments.all() if is_loaded else ()
    return Files(delivery.pk, {attachment.blob_id: attachment.blob for attachment in attachments})


def load(deliveries: Iterable[Delivery]) -> None:
    """Loads the blobs of all these deliveries in one query; makes no query if they name none."""
    naming = [each for each in deliveries if may_name_blobs(each.details_json)]
    blobs = Attachment.objects.select_related("blob").defer("blob__content")
    prefetch_related_objects(naming, Prefetch("attachments", blobs))
