"""Remembers the deliveries of deferred calls, so that a session that is resumed days later finds
its answers."""

from __future__ import annotations

import json
from pathlib import Path

from wake_client.files import stored_json, write_whole

MOST_CALLS = 1000


class Deferred:
    """A file of delivery ids by the agent's id of a call."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def delivery_of(self, call_id: str) -> str | None:
        delivery_id = self._read().get(call_id)
        return delivery_id if isinstance(delivery_id, str) else None

    def remember(self, call_id: str, delivery_id: str) -> None:
        """Writes the file before the call is deferred. Raises OSError or ValueError."""
        deliveries = {**self._read(), call_id: delivery_id}
        newest = dict(list(deliveries.items())[-MOST_CALLS:])
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(self.path, json.dumps(newest, indent=0) + "\n", mode=0o600)

    def _read(self) -> dict[str, object]:
        stored = stored_json(self.path)
        return stored if isinstance(stored, dict) else {}
