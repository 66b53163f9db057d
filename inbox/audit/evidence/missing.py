"""Collects what an evidence export cannot contain, and why, so that nothing is left out
silently."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from database.encryption import Unreadable

NO_KEY = "The encryption key that it was stored with is gone."
NOT_STORED = "The version of Wake that stored this answer did not store this part."
REMOVED = "The account of the person was removed. A number stands for them."
UNKNOWN_ROLE = "The audit does not say which role they had at that time."
NOT_FINAL = "The answer could still be taken back when the export was made."
DISAPPEARED = "The delivery was removed from the database while the export was made."
NO_DIGEST_OF_0_2 = "Version 0.2 stored a hash that does not cover the whole content."


class MissingPart(NamedTuple):
    what: str
    why: str


@dataclass(slots=True)
class MissingParts:
    parts: list[MissingPart] = field(default_factory=list)

    def add(self, what: str, why: str) -> None:
        self.parts.append(MissingPart(what, why))

    def read(self, row: Any, column: str, what: str) -> Any:
        """Returns the value of a column that may be encrypted. If the encryption key is gone,
        returns None and notes `what`."""
        try:
            return getattr(row, column)
        except Unreadable:
            self.add(what, NO_KEY)
            return None
