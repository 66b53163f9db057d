"""A book finds the answers of a program that was started again."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path

import httpx
import pytest

from tests.client.test_sdk import APPROVED, ID, KEY, PENDING, RECEIPT, Server, error, ok
from wake_client import AsyncWakeClient, Unavailable, WakeError

QUESTION = ("Deploy 42?", "All tests pass.")


def test_the_entry_is_there_before_the_request(tmp_path: Path) -> None:
    path = tmp_path / "book.json"
    entries = []

    def look(request: httpx.Request) -> httpx.Response:
        entries.append(json.loads(path.read_text())["deploy-42"])
        return ok(RECEIPT, 201) if request.method == "POST" else ok(APPROVED)

    server = Server(ok(RECEIPT))
    server.answer = look  # type: ignore[method-assign]

    assert server.client().book(path).ask("deploy-42", *QUESTION).status == "approved"

    assert [entry["delivery_id"] for entry in entries] == [None, ID]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_request_that_may_have_been_lost_is_sent_again_as_the_same(tmp_path: Path) -> None:
    lost = httpx.ReadTimeout("gone", request=httpx.Request("POST", "https://x"))
    died, again = Server(lost), Server(ok(RECEIPT, 201), ok(APPROVED))
    with pytest.raises(Unavailable):
        died.client(retry_for=0).book(tmp_path / "book").ask("deploy-42", *QUESTION)

    again.client().book(tmp_path / "book").ask("deploy-42", *QUESTION)

    keys = [server.requests[0].headers["Idempotency-Key"] for server in (died, again)]
    assert keys[0] == keys[1]


def test_a_restart_waits_for_the_first_delivery(tmp_path: Path) -> None:
    first, second = Server(ok(RECEIPT, 201), error(401, "unauthorized")), Server(ok(APPROVED))
    with pytest.raises(WakeError):
        first.client().book(tmp_path / "book").ask("deploy-42", *QUESTION)

    answer = second.client().book(tmp_path / "book").ask("deploy-42", *QUESTION)

    assert answer.delivery_id == ID
    assert [request.method for request in second.requests] == ["GET"]


def test_an_answer_stays_until_it_is_forgotten(tmp_path: Path) -> None:
    server = Server(ok(RECEIPT, 201), ok(APPROVED), ok(APPROVED), ok(RECEIPT, 201), ok(APPROVED))
    book = server.client().book(tmp_path / "book")

    book.ask("deploy-42", *QUESTION)
    book.ask("deploy-42", *QUESTION)
    book.forget("deploy-42")
    book.forget("unknown")
    book.ask("deploy-42", *QUESTION)

    assert [request.method for request in server.requests] == ["POST", "GET", "GET", "POST", "GET"]
    keys = {request.headers.get("Idempotency-Key") for request in server.requests}
    assert len(keys - {None}) == 2


def test_the_answers_that_have_come(tmp_path: Path) -> None:
    other = "650e8400-e29b-41d4-a716-446655440000"
    entries = {
        "a": {"key": "k", "delivery_id": ID},
        "b": {"key": "l", "delivery_id": other},
        "c": {"key": "m", "delivery_id": None},
    }
    path = tmp_path / "book"
    path.write_text(json.dumps(entries))
    book = Server(ok(APPROVED), ok({**PENDING, "delivery_id": other})).client().book(path)

    assert [(name, answer.status) for name, answer in book.answers()] == [("a", "approved")]


def test_a_restart_knows_that_the_agent_has_to_wait(tmp_path: Path) -> None:
    """The answers of a book used to end at the deadline after the program was started again."""
    held, expired = ok({**RECEIPT, "on_timeout": "hold"}, 201), ok({**PENDING, "expired": True})
    path = tmp_path / "book"
    first = Server(held, error(401, "unauthorized"))
    with pytest.raises(WakeError):
        first.client().book(path).ask("deploy-42", *QUESTION)

    assert list(Server(expired).client().book(path).answers()) == []
    answer = Server(expired, ok(APPROVED)).client().book(path).ask("deploy-42", *QUESTION)
    assert answer.status == "approved"


def test_an_expired_answer_is_one_that_has_come(tmp_path: Path) -> None:
    path = tmp_path / "book"
    server = Server(ok(RECEIPT, 201), ok({**PENDING, "expired": True}))
    book = server.client().book(path)

    book.ask("deploy-42", *QUESTION)

    assert [name for name, _ in book.answers()] == ["deploy-42"]


def test_a_withdrawn_question_is_found_and_can_be_asked_again(tmp_path: Path) -> None:
    withdrawn = ok({**PENDING, "withdrawn_at": "2026-03-07T09:00:00Z"})
    held = ok({**RECEIPT, "on_timeout": "hold"}, 201)
    server = Server(held, withdrawn, withdrawn, ok(RECEIPT, 201), ok(APPROVED))
    book = server.client().book(tmp_path / "book")

    assert book.ask("deploy-42", *QUESTION).is_withdrawn
    assert [answer.is_withdrawn for _, answer in book.answers()] == [True]
    book.forget("deploy-42")

    assert book.ask("deploy-42", *QUESTION).status == "approved"


def test_the_async_client_has_a_book(tmp_path: Path) -> None:
    path = tmp_path / "book"
    keys = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers.get("Idempotency-Key"))
        if request.method == "GET":
            return ok(APPROVED)
        (entry,) = json.loads(path.read_text()).values()
        assert (entry["key"], entry["delivery_id"]) == (keys[0], None)
        if len(keys) == 1:
            raise httpx.ReadTimeout("gone", request=request)
        return ok(RECEIPT, 201)

    async def run() -> list[str]:
        async with AsyncWakeClient(
            "https://wake.example.com",
            KEY,
            agent_id="painter",
            transport=httpx.MockTransport(answer),
            retry_for=0,
        ) as client:
            book = client.book(path)
            with pytest.raises(Unavailable):
                await book.ask("deploy-42", *QUESTION)
            first = await client.book(path).ask("deploy-42", *QUESTION)
            assert (first.delivery_id, first.status) == (ID, "approved")
            names = [name async for name, _ in book.answers()]
            book.forget("deploy-42")
            assert book.delivered() == {}
            return names

    assert asyncio.run(run()) == ["deploy-42"]
    assert keys[0] == keys[1]


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', '{"a": {"key": "k"}}'])
def test_a_damaged_book_is_named_and_stays(text: str, tmp_path: Path) -> None:
    path = tmp_path / "book"
    path.write_text(text)

    with pytest.raises(ValueError, match=str(path)):
        Server(ok(RECEIPT)).client().book(path).ask("deploy-42", *QUESTION)
    assert path.read_text() == text


def test_the_async_book_waits_when_a_rule_says_so(tmp_path: Path) -> None:
    expired = ok({**PENDING, "expired": True})
    server = Server(ok({**RECEIPT, "on_timeout": "hold"}, 201), expired, ok(APPROVED), expired)

    async def sleep(seconds: float) -> None:
        server.sleep(seconds)

    async def run() -> tuple[str, list[str]]:
        async with AsyncWakeClient(
            "https://wake.example.com",
            KEY,
            agent_id="painter",
            transport=httpx.MockTransport(server.answer),
            sleep=sleep,
        ) as client:
            book = client.book(tmp_path / "book")
            answer = await book.ask("deploy-42", *QUESTION)
            return answer.status, [name async for name, _ in book.answers()]

    assert asyncio.run(run()) == ("approved", [])
