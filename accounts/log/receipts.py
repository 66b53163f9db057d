"""Puts receipts into the log. The protocol makes receipts, and registers functions that read them,
because this package does not know the models of the protocol."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from typing import NamedTuple
from uuid import UUID

from accounts.models import LogEntry, LogWaiting

Jwts = dict[UUID, str]


class Receipts(NamedTuple):
    """Holds two functions that read receipts. `jwts` reads the JWTs of receipts that still exist.
    `forgotten` returns the id of one receipt that is neither in the log nor waiting. The argument
    of `forgotten` is the number of receipts for each statement."""

    jwts: Callable[[Collection[UUID]], Jwts]
    forgotten: Callable[[int], UUID | None]


_registered: list[Receipts] = []


def register(receipts: Receipts) -> None:
    """Registers the functions that read receipts. The protocol calls this when it starts."""
    _registered[:] = [receipts]


def append_later(receipt_id: UUID, *, team_id: int, jwt: str) -> None:
    """Queues a receipt for the next sweep, in the transaction that makes the receipt."""
    LogWaiting.objects.create(
        kind=LogEntry.RECEIPT, object_id=receipt_id, team_id=team_id, sha256=sha256_of(jwt)
    )


def sha256_of(jwt: str) -> bytes:
    return hashlib.sha256(jwt.encode()).digest()


def jwts(ids: Collection[UUID]) -> Jwts:
    return _registered[0].jwts(ids) if ids else {}


def forgotten(at_once: int) -> UUID | None:
    return _registered[0].forgotten(at_once)
