"""The services of docs/gates.md act once, and only if exactly this action was approved."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from accounts.agents import gates
from accounts.audit import SYSTEM
from database.clock import database_now
from tests.client.connector.relay import CLIENT
from tests.documents.blocks import documented
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.peers import command
from tests.fixtures.served import served
from tests.wake.server.up import eventually
from wake.models import Claim, Response
from wake_client import WakeClient

pytestmark = [pytest.mark.system, pytest.mark.django_db(transaction=True)]
FASTAPI = Path(__file__).parent / "peers/fastapi"
REFUND, OTHER = {"order": "A-17", "cents": 18_000}, {"order": "A-17", "cents": 99_000}
# The real server of the MCP example writes down each call.
REAL_SERVER = """
import sys
from mcp.server import MCPServer

server = MCPServer("refunds")


@server.tool()
def refund(order: str, cents: int) -> str:
    with open(sys.argv[1], "a") as calls:
        calls.write(f"{order} {cents}\\n")
    return f"refunded {cents}"


server.run()
"""


@pytest.fixture
def gate_key(caller: AgentClient) -> str:
    agent = caller.key.agent
    return gates.issue(agent.team, name="Refunds", agents=[agent], by=SYSTEM, at=database_now())[1]


def environment(origin: str, gate_key: str) -> dict[str, str]:
    more = {"WAKE_ENDPOINT": origin, "WAKE_GATE_KEY": gate_key, "PYTHONPATH": str(CLIENT)}
    return {"PATH": os.environ["PATH"], **more}


def write(example: str, folder: Path, caller: AgentClient) -> Path:
    """Writes the example down, for the agent of this test."""
    path = folder / "example.py"
    path.write_text(example.replace("support-agent", caller.agent_id))
    return path


def delivered(origin: str, caller: AgentClient, question: dict[str, Any]) -> dict[str, Any]:
    """Delivers the question as the agent, and returns the receipt."""
    text = caller.key.text  # type: ignore[attr-defined]
    with WakeClient(origin, text, agent_id=caller.agent_id) as wake:
        receipt = asdict(wake.deliver(**question, digest=True))
    body: dict[str, Any] = json.loads(json.dumps(receipt, default=str))
    return body


@contextmanager
def fastapi_service(folder: Path, variables: dict[str, str]) -> Iterator[httpx.Client]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    service = subprocess.Popen([*command(FASTAPI), str(folder), port], env=variables)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:

        def answers() -> bool:
            try:
                return client.get("/openapi.json").is_success
            except httpx.TransportError:
                return False

        try:
            eventually(answers)
            yield client
        finally:
            service.kill()
            service.wait()


def test_a_fastapi_service_refunds_what_was_approved(
    caller: AgentClient, gate_key: str, answer: Callable[..., Response], tmp_path: Path
) -> None:
    write(documented("docs/gates.md", "from fastapi import"), tmp_path, caller)
    with (
        served("asgi") as origin,
        fastapi_service(tmp_path, environment(origin, gate_key)) as service,
    ):
        question = service.post("/refunds/question", json=REFUND).json()
        receipt = delivered(origin, caller, question)

        def refund(what: dict[str, Any]) -> httpx.Response:
            return service.post("/refunds", json={"refund": what, "receipt": receipt})

        assert refund(REFUND).status_code == 403
        answer(receipt["delivery_id"])
        assert refund(OTHER).status_code == 403
        made, again = refund(REFUND), refund(REFUND)
        no_receipt = service.post("/refunds", json={"refund": REFUND, "receipt": {}})

    assert question["headline"] == "Refund 180.00 EUR"
    assert (made.status_code, made.json()) == (200, {"refunded": 18_000, "order": "A-17"})
    assert again.status_code == no_receipt.status_code == 403
    assert "nothing was refunded" in again.json()["detail"]
    assert Claim.objects.get().gate_name == "Refunds"


def test_an_mcp_gateway_lets_an_approved_call_through(
    caller: AgentClient, gate_key: str, answer: Callable[..., Response], tmp_path: Path
) -> None:
    gateway, real, calls = (tmp_path / name for name in ("example.py", "real.py", "calls.txt"))
    write(documented("docs/gates.md", "from mcp import"), tmp_path, caller)
    real.write_text(REAL_SERVER)

    async def session(origin: str) -> list[Any]:
        words = [str(gateway), sys.executable, str(real), str(calls)]
        server = StdioServerParameters(
            command=sys.executable, args=words, env=environment(origin, gate_key)
        )
        async with Client(stdio_client(server)) as client:

            async def called(arguments: dict[str, Any]) -> Any:
                given = {"tool": "refund", "arguments": arguments, "receipt": receipt}
                return await client.call_tool("call", given)

            asked = await client.call_tool("question", {"tool": "refund", "arguments": REFUND})
            question = asked.structured_content
            assert question is not None
            receipt = await asyncio.to_thread(delivered, origin, caller, question)
            early = await called(REFUND)
            await asyncio.to_thread(answer, receipt["delivery_id"])
            return [early, await called(OTHER), await called(REFUND), await called(REFUND)]

    with served("asgi") as origin:
        early, other, made, again = asyncio.run(session(origin))

    assert [each.is_error for each in (early, other, made, again)] == [True, True, False, True]
    assert made.content[0].text == "refunded 18000"
    assert "used before" in again.content[0].text
    assert calls.read_text() == "A-17 18000\n"
    assert Claim.objects.get().gate_name == "Refunds"
