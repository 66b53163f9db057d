"""Provides an agent whose requests reach the real server, without a socket between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from wake_client import WakeClient
from wake_client.adapters import Approvals, ToolCall

REFUND = {"order": "A-1042", "cents": 18_000}


def refund(call_id: str = "call-1", *, thread: str = "run-1", **arguments: Any) -> ToolCall:
    return ToolCall("Testing", thread, call_id, "refund", arguments or REFUND)


class Died(BaseException):
    """The program was killed."""


class Line(httpx.BaseTransport):
    """Carries requests to the server, until it is cut. Remembers the verb of each path. The program
    dies after the server has answered `dies_after`. Another process does `meanwhile` once, before
    the next response arrives. Without `has_claims`, the server is one of version 0.2. A server that
    cheats puts `forged` into its answers."""

    def __init__(self) -> None:
        self.server = Client(raise_request_exception=False)
        self.is_cut = False
        self.dies_after: str | None = None
        self.meanwhile: Callable[[], object] | None = None
        self.has_claims = True
        self.forged: dict[str, Any] = {}
        self.verbs: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        verb = "".join(request.url.path.split("/")[3:4])
        self.verbs.append(verb)
        if self.is_cut:
            raise httpx.ConnectError("The server is away.", request=request)
        if not self.has_claims and not verb:
            return httpx.Response(200, json={"version": "v1"})
        answer = self.server.generic(
            request.method,
            request.url.raw_path.decode(),
            request.read(),
            content_type=request.headers.get("Content-Type", ""),
            headers=dict(request.headers),
        )
        if verb == self.dies_after:
            raise Died
        if self.meanwhile:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        if verb == "response" and self.forged:
            return httpx.Response(200, json={**answer.json(), **self.forged})
        return httpx.Response(
            answer.status_code, headers=dict(answer.items()), content=answer.content
        )


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.fixture
def client(caller: AgentClient, line: Line) -> Iterator[WakeClient]:
    key = caller.key.text  # type: ignore[attr-defined]
    with WakeClient(
        "http://127.0.0.1", key, agent_id=caller.agent_id, transport=line, retry_for=0
    ) as wake:
        yield wake


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "approvals.db"


@pytest.fixture
def started(client: WakeClient, path: Path) -> Callable[..., Approvals]:
    """Returns the approvals as a program that was just started has them."""

    def start(**options: Any) -> Approvals:
        return Approvals(client, path, **options)

    return start
