"""Makes a request with an Idempotency-Key safe to repeat: the same key and body within 24 hours
return the row that the first request made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self, TypeVar

from django.db import models

REPLAY_WINDOW = timedelta(hours=24)
LONGEST_KEY = 255

Row = TypeVar("Row", bound=models.Model)


class IdempotencyConflict(Exception):
    """This Idempotency-Key was used with another body in the last 24 hours."""


class BadIdempotencyKey(Exception):
    """Must be 1 to 255 printable ASCII characters."""


@dataclass(frozen=True, slots=True)
class Idempotency:
    """Holds a client's key and the fingerprint of the parsed body that came with it. The same
    request returns the same row until the window ends, or until `is_over` returns True for the
    row."""

    key: str
    fingerprint: str
    window: timedelta = REPLAY_WINDOW
    is_over: Callable[[Any], bool] | None = None

    @classmethod
    def of(cls, key: str | None, body: Any) -> Self | None:
        """Reads the key of a request. Returns None if there is none. Raises BadIdempotencyKey."""
        if key is None:
            return None
        if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
            raise BadIdempotencyKey(BadIdempotencyKey.__doc__)
        text = json.dumps(body, sort_keys=True)
        return cls(key, hashlib.sha256(text.encode()).hexdigest())

    def replay(self, rows: models.QuerySet[Row], *, at: datetime) -> Row | None:
        """Returns the row that this key made within the window. If the row is older than the
        window, the key is removed from the row. Raises IdempotencyConflict. The caller holds the
        agent's lock."""
        earlier = rows.filter(idempotency_key=self.key).first()
        if earlier is None:
            return None
        row: Any = earlier
        is_over = self.is_over is not None and self.is_over(row)
        if is_over or row.created_at <= at - self.window:
            row.idempotency_key = None
            row.save(update_fields=["idempotency_key"])
            return None
        if row.idempotency_hash != self.fingerprint:
            raise IdempotencyConflict(IdempotencyConflict.__doc__)
        return earlier
