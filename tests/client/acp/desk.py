"""Stands between a scripted editor and a scripted agent, with a server that gives prepared
answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from tests.client.hook.running import WITHDRAWN
from tests.client.hook.test_claims import ClaimingServer
from tests.client.test_sdk import KEY, PENDING, RECEIPT, error, ok
from wake_client import AsyncWakeClient
from wake_client.acp.permissions import Permissions

SESSION, CALL = "sess_01", "call_01"
ALLOW = {"optionId": "yes", "name": "Allow", "kind": "allow_once"}
ALWAYS = {"optionId": "always", "name": "Always allow", "kind": "allow_always"}
REJECT = {"optionId": "no", "name": "Reject", "kind": "reject_once"}
NEVER = {"optionId": "never", "name": "Never allow", "kind": "reject_always"}
OPTIONS = [ALWAYS, ALLOW, NEVER, REJECT]
TOOL_CALL: dict[str, Any] = {
    "toolCallId": CALL,
    "title": "npm publish",
    "kind": "execute",
    "status": "pending",
    "rawInput": {"command": "npm publish", "timeout": 60},
    "locations": [{"path": "/srv/shop/package.json", "line": 3}],
}


class Wake(ClaimingServer):
    """A server with claims. `people` sets the answer, and ends the wait for it."""

    def __init__(self, *, claim: httpx.Response | None = None) -> None:
        super().__init__(PENDING, claim=claim)
        self.answered = asyncio.Event()
        self.withdrawal = ok(WITHDRAWN)
        self.extensions = ok({"extensions": ["digest", "claim", "outcome"]})
        self.delivery: httpx.Response | Exception | None = None

    def people(self, status: str, **more: Any) -> None:
        self.response = {**PENDING, "status": status, **more}
        self.answered.set()

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        match request.url.path.split("/")[3:]:
            case [] | [""]:
                return self.extensions
            case ["deliver", *_] if self.delivery is not None:
                if isinstance(self.delivery, Exception):
                    raise self.delivery
                return self.delivery
            case ["deliver", *_] if "digest" not in json.loads(request.content):
                return ok(RECEIPT, 201)
            case ["withdraw", *_]:
                return self.withdrawal
        self.requests.pop()
        return super().answer(request)

    async def until_answered(self, seconds: float) -> None:
        await self.answered.wait()

    @property
    def asked(self) -> Any:
        (delivery,) = self.sent_to("deliver")
        return delivery

    def sent_to(self, name: str) -> list[Any]:
        return [
            json.loads(request.content)
            for request in self.requests
            if request.url.path.split("/")[3:4] == [name] and request.method == "POST"
        ]


class Desk:
    """Passes the messages of both sides to the permissions, and collects the lines that these
    write."""

    def __init__(self, wake: Wake) -> None:
        self.wake = wake
        self.to_agent: list[Any] = []
        self.to_editor: list[Any] = []
        client = AsyncWakeClient(
            "https://wake.example.com",
            KEY,
            agent_id="coder",
            retry_for=0,
            transport=httpx.MockTransport(wake.answer),
            sleep=wake.until_answered,
            now=lambda: wake.time,
        )
        self.permissions = Permissions(
            client,
            deadline=3600,
            to_agent=lambda line: self.to_agent.append(json.loads(line)),
            to_editor=lambda line: self.to_editor.append(json.loads(line)),
        )

    def agent(self, method: str, id: Any = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.permissions.read_from_agent(message if id is None else {**message, "id": id})

    def update(self, **update: Any) -> None:
        self.agent("session/update", sessionId=SESSION, update=update)

    def ask(self, id: Any = 5, *, options: Any = OPTIONS, call: Any = None, **more: Any) -> None:
        given = {"toolCallId": CALL} if call is None else call
        self.agent(
            "session/request_permission", id, sessionId=SESSION, toolCall=given, options=options,
            **more,
        )  # fmt: skip

    def editor(self, method: str, id: Any = None, **params: Any) -> bool:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        return self.permissions.read_from_editor(message if id is None else {**message, "id": id})

    def editor_answers(self, id: Any = 5, option: str = "no") -> bool:
        """Returns whether the agent gets the answer."""
        result = {"outcome": {"outcome": "selected", "optionId": option}}
        return self.permissions.read_from_editor({"jsonrpc": "2.0", "id": id, "result": result})


def at_desk(
    work: Callable[[Desk], Awaitable[None]], *, claim: httpx.Response | None = None
) -> Desk:
    """Does the work at a desk where the agent has announced its tool call. Returns the desk after
    all requests have ended."""

    async def run() -> Desk:
        desk = Desk(Wake(claim=claim))
        desk.editor("initialize", 0, protocolVersion=1)
        agent = {"name": "coder", "title": "Coder", "version": "1"}
        result = {"protocolVersion": 1, "agentInfo": agent}
        desk.permissions.read_from_agent({"jsonrpc": "2.0", "id": 0, "result": result})
        desk.editor("session/new", 1, cwd="/srv/shop", mcpServers=[])
        result = {"sessionId": SESSION}
        desk.permissions.read_from_agent({"jsonrpc": "2.0", "id": 1, "result": result})
        desk.editor("session/prompt", 2, sessionId=SESSION, prompt=[])
        desk.update(sessionUpdate="tool_call", **TOOL_CALL)
        await work(desk)
        await desk.permissions.close()
        return desk

    return asyncio.run(run())


async def eventually(is_so: Callable[[], object]) -> None:
    async def poll() -> None:
        while not is_so():
            await asyncio.sleep(0)

    await asyncio.wait_for(poll(), 30)


async def asked(desk: Desk) -> None:
    await eventually(lambda: any("/response/" in each.url.path for each in desk.wake.requests))


REFUSED = error(409, "already_answered")
