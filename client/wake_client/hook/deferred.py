"""Remembers the deliveries of deferred calls, so that a session that is resumed days later finds
its answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wake_client.files import locked, stored_json, write_whole

MAX_CALLS = 1000


@dataclass(frozen=True, slots=True)
class DeferredQuestion:
    """Holds a delivery that asks about a call, and the call's digest (Call.digest).
    `content_digest` is the delivery's digest, or None if the server has no claims."""

    delivery_id: str
    digest: str
    content_digest: str | None = None


class Deferred:
    """Stores questions in a file, by the agent's id of the call. Several processes may use the file
    at the same time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def question_of(self, call_id: str) -> DeferredQuestion | None:
        """Returns the question about a call. Returns None for an entry of version 0.2, which
        has no digest and so does not show which call people saw. Raises ValueError if the file
        cannot be read."""
        match self._read().get(call_id):
            case {
                "delivery_id": str(delivery_id),
                "digest": str(digest),
                "content_digest": str(content_digest),
            }:
                return DeferredQuestion(delivery_id, digest, content_digest)
            case {"delivery_id": str(delivery_id), "digest": str(digest)}:
                return DeferredQuestion(delivery_id, digest)
        return None

    def remember(self, call_id: str, question: DeferredQuestion) -> None:
        """Stores the question about a call. Raises OSError or ValueError."""
        entry = {"delivery_id": question.delivery_id, "digest": question.digest}
        if question.content_digest is not None:
            entry["content_digest"] = question.content_digest
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self.path):
            entries = self._read()
            entries.pop(call_id, None)  # so that the newest entries are at the end
            newest = dict([*entries.items(), (call_id, entry)][-MAX_CALLS:])
            write_whole(self.path, json.dumps(newest, indent=0) + "\n", mode=0o600)

    def _read(self) -> dict[str, Any]:
        stored = stored_json(self.path)
        if isinstance(stored, dict):
            return stored
        raise ValueError(f"{self.path} is not an object. Remove it.")
