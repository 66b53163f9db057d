"""Remembers a program's questions in a file, so that it finds their answers after a restart."""

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
    from wake_client.async_client import AsyncWakeClient
    from wake_client.client import WakeClient


class Entries:
    """Reads and writes the file of a book. The file maps the name of each question to its
    idempotency key, its delivery, a digest of its content, and whether the agent has to wait."""

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
        """Returns the entry of a question. Writes a new entry before the question is sent. Raises
        ValueError if something else was asked under this name. Entries of version 0.2 do not record
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
    """Holds the questions of one program, by a name that the program gives to each. Use a book in
    one process at a time.

    An entry is written before its question is sent. So a program that dies while it sends the
    question does not ask twice. The entry is kept until forget(), so that a program that dies after
    the answer gets the answer again.
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
        """Asks, or waits for the answer to the earlier question of this name. Raises ValueError for
        a damaged file. Also raises ValueError if the headline, the summary, the details or the
        assumption have changed, because an approval is for the words that people saw."""
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
        """Yields the answers that have come, each with the name of its question. Includes expired
        ones if the agent may go on without an answer, and withdrawn ones, which get no answer. To
        ask again after a withdrawal, call forget() first."""
        waiting = self._made_to_wait()
        for name, delivery_id in self.delivered().items():
            answer = self.client.response(delivery_id)
            if _has_come(answer, must_wait=name in waiting):
                yield name, answer


class AsyncBook(Entries):
    """Works like Book for an AsyncWakeClient. Several questions may wait at the same time, in one
    event loop. The file is small, so it is written in the event loop's own thread."""

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
        """Works like Book.ask."""
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
        """Works like Book.answers, for `async for`."""
        waiting = self._made_to_wait()
        for name, delivery_id in self.delivered().items():
            answer = await self.client.response(delivery_id)
            if _has_come(answer, must_wait=name in waiting):
                yield name, answer


def _has_come(answer: Answer, *, must_wait: bool) -> bool:
    """Returns whether the program need not look again."""
    if answer.is_answered or answer.is_withdrawn:
        return True
    return answer.expired and not must_wait


def _digest(headline: str, summary: str, optional: OptionalFields) -> str:
    """Returns the SHA-256 of the content that people base their answer on."""
    content = [headline, summary, optional.get("details"), optional.get("assumption")]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
