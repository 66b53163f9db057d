"""Finds the time stamps of checkpoints (RFC 3161)."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator
from typing import NamedTuple

from django.db.models import QuerySet

from accounts.models import CheckpointSending


class Stamped(NamedTuple):
    """Has a checkpoint's number of entries, its note without cosignatures, and the response of the
    time-stamp authority, which is over this note."""

    size: int
    note: bytes
    response: bytes


def of_sizes(sizes: Collection[int]) -> Iterator[Stamped]:
    """Yields the checkpoints of these sizes that have a time stamp, in order."""
    yield from map(_stamped, _arrived().filter(checkpoint__in=sizes).order_by("checkpoint"))


def newest() -> Stamped | None:
    """Returns the newest checkpoint that has a time stamp."""
    row = _arrived().order_by("-checkpoint").first()
    return _stamped(row) if row else None


def _arrived() -> QuerySet[CheckpointSending]:
    rows = CheckpointSending.objects.filter(kind=CheckpointSending.Kind.TIMESTAMP)
    return rows.filter(sent_at__isnull=False).select_related("checkpoint")


def _stamped(row: CheckpointSending) -> Stamped:
    checkpoint = row.checkpoint
    return Stamped(checkpoint.size, checkpoint.note.encode(), base64.b64decode(row.result))
