"""Remembers in a file what a program asked, so that it finds its answers after a restart."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from wake_client.answers import Answer, Receipt
from wake_client.files import stored_json, write_whole
from wake_client.http.flows import OptionalFields

if TYPE_CHECKING:
    from wake_client.client import AsyncWakeClient, WakeClient


class Entries:
    """The file of a book: the idempotency key, the delivery and a digest of the content of each
    question, by its name, and whether the agent has to wait."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def delivered(self) -> dict[str, str]:
        """Returns the ids of the deliveries, by the name of their question."""
        entries = self._read().items()
        return {name: entry["delivery_id"] for name, entry in entries if entry["delivery_id"]}

    def forget(self, name: str) -> None:
        """Removes an entry when the program has acted on its answer."""
        entries = self._read()
        entries.pop(name, None)
        self._write(entries)

    def _begun(
        self, name: str, headline: str, summary: str, optional: OptionalFields
    ) -> dict[str, Any]:
        """Returns the entry of a question, and writes a new one before its request. Raises
        ValueError if something else was asked under this name. Entries of version 0.2 do not say
        what was asked."""
        digest = _digest(headline, summary, optional)
        entry = self._read().get(name)
        if entry is None:
            new = {"key": str(uuid.uuid4()), "delivery_id": None, "digest": digest}
            entry = self._store(name, new)
        if entry.get("digest", digest) != digest:
            raise ValueError(
                f"{name} was asked with other words, and its answer is not for these. Use another "
                "name, or forget() it first."
            )
        return dict(entry)

    def _store_receipt(self, name: str, entry: dict[str, Any], receipt: Receipt) -> dict[str, Any]:
        facts = {"delivery_id": receipt.delivery_id, "must_wait": receipt.must_wait}
        return self._store(name, {**entry, **facts})

    def _made_to_wait(self) -> set[str]:
        """Returns the names of the questions whose answer the agent has to wait for."""
        return {name for name, entry in self._read().items() if entry.get("must_wait")}

    def _store(self, name: str, entry: dict[str, Any]) -> dict[str, Any]:
        self._write({**self._read(), name: entry})
        return entry

    def _write(self, entries: dict[str, Any]) -> None:
        write_whole(self.path, json.dumps(entries, indent=1) + "\n", mode=0o600)

    def _read(self) -> dict[str, Any]:
        entries = stored_json(self.path)
        is_right = isinstance(entries, dict) and all(
            isinstance(entry, dict) and entry.keys() >= {"key", "delivery_id"}
            for entry in entries.values()
        )
        if not is_right:
            raise ValueError(f"{self.path} is no book of questions.")
        return dict(entries)


class Book(Entries):
    """The questions of one program, by a name that the program gives to each. Use it in one process
    at a time.

    An entry is written before its request, so that a program that dies in between asks no second
    time, and it stays until forget(): a program that dies after the answer gets it once more.
    """

    def __init__(self, client: WakeClient, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self.client = client

    def ask(
        self,
        name: str,
        headline: str,
        summary: str,
        *,
        timeout: float | None = None,
        **optional: Unpack[OptionalFields],
    ) -> Answer:
        """Asks, or waits for the answer to what it asked under this name before. Raises ValueError
        for a damaged file, and if the headline, the summary, the details or the assumption are
        others than before: an approval is for what people saw."""
        entry = self._begun(name, headline, summary, optional)
        if entry["delivery_id"] is None:
            receipt = self.client.deliver(
                "question", headline, summary, idempotency_key=entry["key"], **optional
            )
            entry = self._store_receipt(name, entry, receipt)
        return self.client.wait(
            entry["delivery_id"], timeout=timeout, must_wait=entry.get("must_wait", False)
        )

    def answers(self) -> Iterator[tuple[str, Answer]]:
        """Yields the answers that have come, by the name of their question, and those that expired
        if the agent may go on without them."""
        waiting = self._made_to_wait()
        for name, delivery_id in self.delivered().items():
            answer = self.client.response(delivery_id)
            if answer.is_answered or (answer.expired and name not in waiting):
                yield name, answer


class AsyncBook(Entries):
    """Does the same as Book for an AsyncWakeClient. Several questions may wait at a time, in one
    event loop. The file is small, so that it is written without a thread."""

    def __init__(self, client: AsyncWakeClient, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self.client = client

    async def ask(
        self,
        name: str,
        headline: str,
        summary: str,
        *,
        timeout: float | None = None,
        **optional: Unpack[OptionalFields],
    ) -> Answer:
        """Does the same as Book.ask."""
        entry = self._begun(name, headline, summary, optional)
        if entry["delivery_id"] is None:
            receipt = await self.client.deliver(
                "question", headline, summary, idempotency_key=entry["key"], **optional
            )
            entry = self._store_receipt(name, entry, receipt)
        return await self.client.wait(
            entry["delivery_id"], timeout=timeout, must_wait=entry.get("must_wait", False)
        )

    async def answers(self) -> AsyncIterator[tuple[str, Answer]]:
        """Does the same as Book.answers, for `async for`."""
        waiting = self._made_to_wait()
        for name, delivery_id in self.delivered().items():
            answer = await self.client.response(delivery_id)
            if answer.is_answered or (answer.expired and name not in waiting):
                yield name, answer


def _digest(headline: str, summary: str, optional: OptionalFields) -> str:
    """Returns the SHA-256 of what people base their answer on."""
    content = [headline, summary, optional.get("details"), optional.get("assumption")]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
