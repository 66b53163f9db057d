"""Remembers the deliveries of deferred calls, so that a session that is resumed days later finds
its answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wake_client.files import locked, stored_json, write_whole

MOST_CALLS = 1000


@dataclass(frozen=True, slots=True)
class Question:
    """A delivery, and the digest of the call that it asks about (Call.digest)."""

    delivery_id: str
    digest: str


class Deferred:
    """A file of questions by the agent's id of a call. Several processes may use it at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def question_of(self, call_id: str) -> Question | None:
        """Returns the question about a call. Returns None for an entry without a digest, as version
        0.2 wrote them: it does not say which call people saw. Raises ValueError for a file that
        cannot be read."""
        match self._read().get(call_id):
            case {"delivery_id": str(delivery_id), "digest": str(digest)}:
                return Question(delivery_id, digest)
        return None

    def remember(self, call_id: str, question: Question) -> None:
        """Writes the file before the call is deferred. Raises OSError or ValueError."""
        entry = {"delivery_id": question.delivery_id, "digest": question.digest}
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self.path):
            entries = self._read()
            entries.pop(call_id, None)  # the newest ones are at the end
            newest = dict([*entries.items(), (call_id, entry)][-MOST_CALLS:])
            write_whole(self.path, json.dumps(newest, indent=0) + "\n", mode=0o600)

    def _read(self) -> dict[str, Any]:
        stored = stored_json(self.path)
        if isinstance(stored, dict):
            return stored
        raise ValueError(f"{self.path} is not an object. Remove it.")
