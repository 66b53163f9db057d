"""Remembers in a file what a program asked, so that it finds its answers after a restart."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from wake_client.answers import Answer
from wake_client.files import stored_json, write_whole
from wake_client.flows import OptionalFields

if TYPE_CHECKING:
    from wake_client.client import WakeClient


class Book:
    """The questions of one program, by a name that the program gives to each. Use it in one process
    at a time.

    An entry is written before its request, so that a program that dies in between asks no second
    time, and it stays until forget(): a program that dies after the answer gets it once more.
    """

    def __init__(self, client: WakeClient, path: str | os.PathLike[str]) -> None:
        self.client = client
        self.path = Path(path)

    def ask(
        self,
        name: str,
        headline: str,
        summary: str,
        *,
        timeout: float | None = None,
        **optional: Unpack[OptionalFields],
    ) -> Answer:
        """Asks, or waits for the answer to what it asked under this name before. The content of an
        entry that was delivered does not change. Raises ValueError for a damaged file."""
        entry = self._entries().get(name)
        if entry is None:
            entry = {"key": str(uuid.uuid4()), "delivery_id": None}
            self._store(name, entry)
        if entry["delivery_id"] is None:
            receipt = self.client.deliver(
                "question", headline, summary, idempotency_key=entry["key"], **optional
            )
            entry = {**entry, "delivery_id": receipt.delivery_id}
            self._store(name, entry)
        return self.client.wait(entry["delivery_id"], timeout=timeout)

    def answers(self) -> Iterator[tuple[str, Answer]]:
        """Yields the answers that have come, by the name of their question."""
        for name, delivery_id in self.delivered().items():
            answer = self.client.response(delivery_id)
            if answer.is_final:
                yield name, answer

    def delivered(self) -> dict[str, str]:
        """Returns the ids of the deliveries, by the name of their question."""
        entries = self._entries().items()
        return {name: entry["delivery_id"] for name, entry in entries if entry["delivery_id"]}

    def forget(self, name: str) -> None:
        """Removes an entry when the program has acted on its answer."""
        entries = self._entries()
        entries.pop(name, None)
        self._write(entries)

    def _store(self, name: str, entry: dict[str, Any]) -> None:
        self._write({**self._entries(), name: entry})

    def _write(self, entries: dict[str, Any]) -> None:
        write_whole(self.path, json.dumps(entries, indent=1) + "\n", mode=0o600)

    def _entries(self) -> dict[str, Any]:
        entries = stored_json(self.path)
        is_right = isinstance(entries, dict) and all(
            isinstance(entry, dict) and entry.keys() >= {"key", "delivery_id"}
            for entry in entries.values()
        )
        if not is_right:
            raise ValueError(f"{self.path} is no book of questions.")
        return dict(entries)
