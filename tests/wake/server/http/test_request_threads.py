"""A long answer is sent in parts. When the client has left, no further parts are sent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from wake.server.http.request_threads import PART_BYTES, RequestThreads

pytestmark = pytest.mark.once
PARTS = 20
SCOPE = {
    "type": "http",
    "http_version": "1.1",
    "method": "GET",
    "scheme": "http",
    "path": "/audit/export",
    "query_string": b"",
    "headers": [],
}


class Streamed:
    """Counts the parts that were read of a streamed answer."""

    streaming = True

    def __init__(self) -> None:
        self.read = 0
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(PARTS):
            self.read += 1
            yield b"x" * PART_BYTES

    def close(self) -> None:
        self.is_closed = True


def sent(answer: Iterable[bytes], *, leaves_after: int | None = None) -> list[Mapping[str, Any]]:
    """Returns what is sent to a client that leaves after so many messages."""
    messages: list[Mapping[str, Any]] = []

    def wsgi(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [])
        return answer

    async def ask() -> None:
        has_left = asyncio.Event()

        async def receive() -> Mapping[str, Any]:
            await has_left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Mapping[str, Any]) -> None:
            messages.append(message)
            if len(messages) == leaves_after:
                has_left.set()
            await asyncio.sleep(0)

        await RequestThreads(wsgi)(SCOPE, receive, send)

    asyncio.run(ask())
    return messages


def test_a_long_answer_is_sent_whole() -> None:
    content = b"y" * (PARTS * PART_BYTES + 1)

    start, *parts = sent([content])

    assert start["type"] == "http.response.start"
    assert b"".join(part["body"] for part in parts) == content
    assert [part["more_body"] for part in parts] == [True] * PARTS + [False]


def test_a_long_answer_ends_when_its_client_has_left() -> None:
    assert len(sent([b"y" * (PARTS * PART_BYTES)], leaves_after=3)) < PARTS


def test_a_streamed_answer_is_read_no_further_when_its_client_has_left() -> None:
    whole, left = Streamed(), Streamed()

    messages = sent(whole)
    sent(left, leaves_after=3)

    assert len(b"".join(message.get("body", b"") for message in messages)) == PARTS * PART_BYTES
    assert (whole.read, whole.is_closed) == (PARTS, True)
    assert left.read < PARTS
    assert left.is_closed
