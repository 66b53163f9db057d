"""A book finds the answer to the question that was asked, and never an approval of other words."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.test_sdk import APPROVED, ID, KEY, RECEIPT, Server, ok
from wake_client import AsyncWakeClient

QUESTION: dict[str, Any] = {
    "headline": "Deploy 42?",
    "summary": "All tests pass.",
    "details": {"to": "staging", "hosts": ["a", "b"]},
    "assumption": "I wait.",
}
CHANGES: list[dict[str, Any]] = [
    {"headline": "Deploy 43?"},
    {"summary": "Two tests fail."},
    {"details": {"to": "production", "hosts": ["a", "b"]}},
    {"assumption": "I deploy."},
    {"details": None},
]


@pytest.mark.parametrize("change", CHANGES)
def test_an_approval_is_not_for_other_words(change: Any, tmp_path: Path) -> None:
    server = Server(ok(RECEIPT, 201), ok(APPROVED))
    book = server.client().book(tmp_path / "book")
    book.ask("deploy", **QUESTION)

    with pytest.raises(ValueError, match="asked with other words"):
        book.ask("deploy", **{**QUESTION, **change})

    assert book.ask("deploy", **QUESTION).status == "approved"
    assert len(server.requests) == 3


def test_the_async_book_does_the_same(tmp_path: Path) -> None:
    server = Server(ok(RECEIPT, 201), ok(APPROVED))

    async def run() -> None:
        async with AsyncWakeClient(
            "https://wake.example.com", KEY, agent_id="painter",
            transport=httpx.MockTransport(server.answer),
        ) as client:  # fmt: skip
            book = client.book(tmp_path / "book")
            await book.ask("deploy", **QUESTION)
            await book.ask("deploy", **{**QUESTION, "summary": "Two tests fail."})

    with pytest.raises(ValueError, match="asked with other words"):
        asyncio.run(run())


def test_other_members_of_the_request_may_change(tmp_path: Path) -> None:
    """A program that was started again has less time left."""
    book = Server(ok(RECEIPT, 201), ok(APPROVED)).client().book(tmp_path / "book")
    book.ask("deploy", **QUESTION, timeout_seconds=3600)

    assert book.ask("deploy", **QUESTION, timeout_seconds=60).status == "approved"


def test_an_entry_of_an_earlier_version_is_found(tmp_path: Path) -> None:
    (tmp_path / "book").write_text(json.dumps({"deploy": {"key": "k", "delivery_id": ID}}))

    book = Server(ok(APPROVED)).client().book(tmp_path / "book")

    assert book.ask("deploy", **QUESTION).delivery_id == ID
