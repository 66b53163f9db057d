"""The official SDK talks to the real server in each of its modes."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from accounts.models import ApiKey, User
from database.clock import database_now
from tests.client.connector.relay import CLIENT
from tests.fixtures.served import Server, served
from wake.mcp import protocol
from wake.models import Claim, Delivery, Outcome, Response
from wake.responses import release, respond

pytestmark = [pytest.mark.system, pytest.mark.django_db(transaction=True)]
QUESTION = {"headline": "Which name?", "summary": "Both are free.", "options": ["A", "B"]}


def talk(origin: str, key: str, mode: str, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Connects, lists the tools and makes the calls. Returns their results."""

    async def session() -> list[Any]:
        headers = {"Authorization": f"Bearer {key}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=70) as http,
            Client(streamable_http_client(f"{origin}/mcp", http_client=http), mode=mode) as client,
        ):
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == [
                "deliver", "ask", "check", "answers", "withdraw", "report",
            ]  # fmt: skip
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(session())


@pytest.mark.parametrize("interface", ["wsgi", "asgi"])
def test_in_every_mode(interface: str, key: ApiKey, bob: User) -> None:
    text = key.text  # type: ignore[attr-defined]
    with served(interface) as origin:
        for mode in ("auto", "legacy", "2026-07-28"):
            question = {**QUESTION, "thread": mode, "wait_seconds": 0}
            (asked,) = talk(origin, text, mode, ("ask", question))
            row = Delivery.objects.get(thread=mode)
            now = database_now()
            response = respond(
                row,
                by=bob,
                status="redirected",
                content_hash=row.content_hash,
                edited_json='{"choice":"B"}',
                at=now,
            )
            assert isinstance(response, Response)
            release(response, at=now)
            checked, found, failed = talk(
                origin,
                text,
                mode,
                ("check", {"delivery_id": str(row.pk)}),
                ("answers", {}),
                ("check", {"delivery_id": "nothing"}),
            )

            assert asked.structured_content["status"] == "pending"
            assert checked.structured_content["edited_content"] == {"choice": "B"}
            assert str(row.pk) in str(found.structured_content["deliveries"])
            assert failed.is_error


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_an_approval_is_used_once_and_its_outcome_reported(
    mode: str, key: ApiKey, bob: User
) -> None:
    text = key.text  # type: ignore[attr-defined]
    with served("asgi") as origin:
        (asked,) = talk(origin, text, mode, ("ask", {**QUESTION, "wait_seconds": 0}))
        delivery_id = asked.structured_content["delivery_id"]
        digest = asked.structured_content["digest"]
        row = Delivery.objects.get()
        now = database_now()
        response = respond(row, by=bob, status="approved", content_hash=digest, at=now)
        assert isinstance(response, Response)
        release(response, at=now)
        claim = ("check", {"delivery_id": delivery_id, "claim": digest})
        done = ("report", {"delivery_id": delivery_id, "status": "done", "summary": "It is A."})
        used, again, reported = talk(origin, text, mode, claim, claim, done)

    assert used.structured_content["claim"]["claim_id"] == str(Claim.objects.get().pk)
    assert used.structured_content["nonce"] == row.nonce
    assert again.is_error
    assert again.content[0].text.startswith("already_claimed: ")
    assert reported.structured_content["status"] == "done"
    assert Outcome.objects.get().summary == "It is A."


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_a_session_outlives_calls_that_fail(mode: str, key: ApiKey) -> None:
    async def session(origin: str) -> list[tuple[int, str]]:
        headers = {"Authorization": f"Bearer {key.text}"}  # type: ignore[attr-defined]
        failures = []
        async with (
            httpx2.AsyncClient(headers=headers, timeout=70) as http,
            Client(streamable_http_client(f"{origin}/mcp", http_client=http), mode=mode) as client,
        ):
            for call in (partial(client.call_tool, "nosuch", {}), client.list_prompts):
                with pytest.raises(MCPError) as failure:
                    await call()
                failures.append((failure.value.code, failure.value.message))
                assert not (await client.call_tool("answers", {})).is_error
            wrong = await client.call_tool("check", {"delivery": 7})
            assert "invalid_field: delivery: check takes" in str(wrong.content)
            assert not (await client.call_tool("answers", {})).is_error
        return failures

    with served("wsgi") as origin:
        (tool, method) = asyncio.run(session(origin))

    assert tool[0] == protocol.INVALID_PARAMS
    assert tool[1].startswith("There is no such tool. The tools are deliver, ask,")
    assert method == (protocol.METHOD_NOT_FOUND, "There is no such method here.")


def test_through_the_bridge_for_clients_that_start_programs(key: ApiKey) -> None:
    async def session(origin: str, mode: str) -> Any:
        program = StdioServerParameters(
            command=sys.executable,
            args=["-m", "wake_client", "mcp", "--endpoint", origin],
            env={"PYTHONPATH": str(CLIENT), "WAKE_API_KEY": key.text},  # type: ignore[attr-defined]
        )
        async with Client(stdio_client(program), mode=mode) as client:
            assert len((await client.list_tools()).tools) == 6
            return await client.call_tool("ask", {**QUESTION, "thread": mode, "wait_seconds": 0})

    with served("wsgi") as origin:
        for mode in ("auto", "legacy", "2026-07-28"):
            asked = asyncio.run(session(origin, mode))

            row = Delivery.objects.get(thread=mode)
            assert asked.structured_content["delivery_id"] == str(row.pk)


def test_the_same_call_after_a_kill_is_one_delivery(key: ApiKey) -> None:
    """A client whose answer was lost with the server calls again. The kill left only the committed
    rows."""
    text, question = key.text, {**QUESTION, "wait_seconds": 0}  # type: ignore[attr-defined]
    server = Server("wsgi")
    server.start()
    try:
        (first,) = talk(server.origin, text, "auto", ("ask", question))
        server.kill()
        server.start()
        (again,) = talk(server.origin, text, "auto", ("ask", question))
    finally:
        server.stop()

    assert again.structured_content["delivery_id"] == first.structured_content["delivery_id"]
    assert Delivery.objects.count() == 1
