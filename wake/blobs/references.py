"""Finds the blobs that typed blocks name, and attaches them to their delivery."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from database.uuids import uuid_or_none
from wake.models import Attachment, Delivery, UploadedBlob
from wake.models.blobs import UploadedBlobQuerySet

MAX_ATTACHMENTS = 50
KINDS = {"image", "file"}
ASCII_ESCAPE = "\\u00"


def may_have(details_json: str | None, *names: str) -> bool:
    """Returns whether the JSON may contain all of these names or values, without parsing it. JSON
    may spell their letters as escapes: `wake\\u005fblocks` is `wake_blocks`."""
    if not details_json:
        return False
    return all(f'"{name}"' in details_json for name in names) or ASCII_ESCAPE in details_json


def may_name_blobs(details_json: str | None) -> bool:
    """Returns whether the details may name blobs. Parses no JSON, so deliveries without blobs cost
    hardly any time."""
    return may_have(details_json, "wake_blocks", "blob")


def blob_ids(details_json: str | None) -> list[UUID]:
    """Returns the ids that `image` and `file` blocks name, each once, in their order."""
    if not details_json or not may_name_blobs(details_json):
        return []
    match json.loads(details_json):
        case {"wake_blocks": 1, "blocks": list(blocks)}:
            named = (_blob_id(block) for block in blocks)
            return list(dict.fromkeys(id for id in named if id))[:MAX_ATTACHMENTS]
    return []


def digests_of(delivery: Delivery) -> list[str]:
    """Returns the SHA-256 of each file that the details name and that is there, in their order.
    Makes no query for details without files."""
    ids = blob_ids(delivery.details_json)
    if not ids:
        return []
    stored = dict(_of_sender(delivery, ids).values_list("pk", "sha256"))
    return [stored[id] for id in ids if id in stored]


def attach(delivery: Delivery) -> None:
    """Attaches the blobs of the delivery's agent and mode. Other ids are left alone, and the page
    shows that the file is missing.

    Runs in the transaction that inserts the delivery. The lock prevents wake/blobs/removal.py from
    deleting a blob meanwhile.
    """
    ids = blob_ids(delivery.details_json)
    if not ids:
        return
    mine = _of_sender(delivery, ids)
    locked = list(mine.select_for_update(of=("self",)).order_by("pk").values_list("pk", flat=True))
    Attachment.objects.bulk_create([Attachment(delivery=delivery, blob_id=pk) for pk in locked])
    UploadedBlob.objects.filter(pk__in=locked).update(expires_at=None)


def _of_sender(delivery: Delivery, ids: list[UUID]) -> UploadedBlobQuerySet:
    return UploadedBlob.objects.of_agent(delivery.agent, delivery.mode).filter(pk__in=ids)


def _blob_id(block: Any) -> UUID | None:
    match block:
        case {"type": str(kind), "blob": str(text)} if kind in KINDS:
            return uuid_or_none(text)
    return None
