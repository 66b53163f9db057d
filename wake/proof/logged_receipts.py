"""Reads receipts for the verification of the log (accounts/log/receipts.py)."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db.models import Exists, OuterRef

from accounts.audit.key_ranges import key_ranges
from accounts.log.receipts import Receipts
from accounts.models import LogEntry, LogWaiting
from wake.models import Receipt


def _jwts(ids: Collection[UUID]) -> dict[UUID, str]:
    receipts = Receipt.objects.only("jwt").in_bulk(ids)
    return {receipt_id: receipt.jwt for receipt_id, receipt in receipts.items()}


def _forgotten(at_once: int) -> UUID | None:
    for ids in key_ranges(Receipt.objects.all(), at_once=at_once):
        logged = LogEntry.objects.filter(ids.of("receipt_id"), receipt_id=OuterRef("pk"))
        waiting = LogWaiting.objects.filter(ids.of("object_id"), object_id=OuterRef("pk"))
        own = Receipt.objects.filter(ids.of("pk"), key__issuer="")
        forgotten = own.filter(~Exists(logged), ~Exists(waiting))
        if receipt := forgotten.only("pk").order_by("pk").first():
            return receipt.pk
    return None


RECEIPTS = Receipts(jwts=_jwts, forgotten=_forgotten)
