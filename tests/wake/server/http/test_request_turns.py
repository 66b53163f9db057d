"""A request takes its turn when its body is complete, and is grouped by what its server knows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from accounts.limits import turn_groups
from database import turns
from database.turns import Turn, Turns, TurnTaker
from wake.server.http.body_limit import Receive, Send
from wake.server.http.request_turns import RequestTurns, caller_of

pytestmark = pytest.mark.once
KEY = {"authorization": "Bearer wk_live_1"}


@pytest.fixture(autouse=True)
def no_accepted_credentials() -> Iterator[None]:
    before = dict(turn_groups._groups)
    turn_groups._groups.clear()
    yield
    turn_groups._groups.clear()
    turn_groups._groups.update(before)


def scope(
    path: str = "/wake/v1/responses",
    headers: Mapping[str, str] | None = None,
    *,
    address: str = "192.0.2.1",
    method: str = "GET",
) -> dict[str, Any]:
    pairs = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    return {
        "type": "http",
        "method": method,
        "path": path,
        "headers": pairs,
        "client": (address, 1234),
    }


def accept(caller: TurnTaker, group: str) -> None:
    turns.current.set(Turn(Turns("request", 1), caller))
    turn_groups.accept(group)
    turns.current.set(None)


def test_requests_without_a_key_are_grouped_by_network() -> None:
    assert caller_of(scope()) == TurnTaker("192.0.2.1")
    assert caller_of(scope(address="2001:db8::1")) == TurnTaker("2001:db8::/64")
    assert caller_of({**scope(), "client": None}) == TurnTaker("")


def test_unknown_keys_are_members_of_their_network() -> None:
    callers = {
        caller_of(scope(headers={"authorization": f"Bearer {number}"})) for number in range(9)
    }

    assert {caller.group for caller in callers} == {"192.0.2.1"}
    assert len({caller.member for caller in callers}) == 9


def test_an_accepted_key_is_a_member_of_its_team_from_any_address() -> None:
    accept(caller_of(scope(headers=KEY)), "team 1")

    caller = caller_of(scope(headers=KEY, address="192.0.2.2"))

    assert caller.group == "team 1"
    assert caller.member
    assert caller_of(scope()).group == "192.0.2.1"


def test_a_browser_is_known_by_its_session_and_a_machine_by_its_key() -> None:
    cookie = {"cookie": "theme=dark; sessionid=abc; known=1"}
    accept(caller_of(scope("/", cookie)), "person 1")

    assert caller_of(scope("/", {"cookie": "sessionid=abc", **KEY})).group == "person 1"
    assert caller_of(scope("/wake/v1/responses", cookie)) == TurnTaker("192.0.2.1")
    assert caller_of(scope("/", KEY)) == TurnTaker("192.0.2.1")
    assert caller_of(scope("/", {"cookie": "othersessionid=abc"})) == TurnTaker("192.0.2.1")


def test_a_request_without_a_credential_is_never_accepted() -> None:
    accept(caller_of(scope()), "team 1")

    assert caller_of(scope()) == TurnTaker("192.0.2.1")


def test_the_proxys_header_names_the_network(settings: Any) -> None:
    settings.WAKE_CLIENT_ADDRESS = "HTTP_X_FORWARDED_FOR"
    forged = {"x-forwarded-for": "203.0.113.9, 198.51.100.7"}

    assert caller_of(scope(headers=forged)) == TurnTaker("198.51.100.7")
    assert caller_of(scope()) == TurnTaker("")


def test_only_so_many_credentials_are_remembered() -> None:
    for number in range(turn_groups.MAX_KNOWN + 1):
        accept(TurnTaker("192.0.2.1", str(number)), "team 1")

    assert len(turn_groups._groups) <= turn_groups.MAX_KNOWN


class Edge:
    """Serves one request at a time, and sends each request's answer when it may."""

    def __init__(self, *, seconds: float = 10) -> None:
        self.running = 0
        self.may_begin, self.may_end = asyncio.Event(), asyncio.Event()
        self.server = RequestTurns(self.app, number=1)
        self.server.turns.seconds = seconds

    async def app(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await receive()
        self.running += 1
        await self.may_begin.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await self.may_end.wait()
        await send({"type": "http.response.body", "body": b"done"})

    async def request(
        self, scope: dict[str, Any], *, body: asyncio.Event | None = None
    ) -> list[Mapping[str, Any]]:
        """Returns what is sent. The body is complete when `body` is set."""
        messages: list[Mapping[str, Any]] = []

        async def receive() -> Mapping[str, Any]:
            assert body is not None
            await body.wait()
            return {"type": "http.request", "body": b"{}"}

        async def send(message: Mapping[str, Any]) -> None:
            messages.append(message)

        await self.server(scope, receive, send)
        return messages


async def until_all_wait() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_request_has_a_turn_until_its_answer_begins() -> None:
    async def run() -> list[int]:
        edge, running = Edge(), list[int]()
        requests = [asyncio.create_task(edge.request(scope())) for _ in range(2)]
        await until_all_wait()
        running.append(edge.running)
        edge.may_begin.set()  # the first answer begins, and its end comes later
        await until_all_wait()
        running.append(edge.running)
        edge.may_end.set()
        await asyncio.gather(*requests)
        return running

    assert asyncio.run(run()) == [1, 2]


def test_a_slow_body_has_no_turn() -> None:
    async def run() -> list[int]:
        edge, running, body = Edge(), list[int](), asyncio.Event()
        headers = {"content-length": "2"}
        slow = edge.request(scope(headers=headers, method="POST"), body=body)
        requests = [asyncio.create_task(slow)]
        await until_all_wait()
        requests.append(asyncio.create_task(edge.request(scope())))
        await until_all_wait()
        running.append(edge.running)
        body.set()
        await until_all_wait()
        running.append(edge.running)
        edge.may_begin.set()
        edge.may_end.set()
        await asyncio.gather(*requests)
        running.append(edge.running)
        return running

    assert asyncio.run(run()) == [1, 1, 2]


def test_health_needs_no_turn() -> None:
    async def run() -> int:
        edge = Edge()
        paths = ["/wake/v1/responses", "/healthz", "/readyz"]
        requests = [asyncio.create_task(edge.request(scope(path))) for path in paths]
        await until_all_wait()
        running = edge.running
        edge.may_begin.set()
        edge.may_end.set()
        await asyncio.gather(*requests)
        return running

    assert asyncio.run(run()) == 3


@pytest.mark.parametrize("path", ["/wake/v1/responses", "/@home/agent", "/mcp", "/"])
def test_a_request_that_gets_no_turn_is_refused(path: str) -> None:
    async def run() -> list[Mapping[str, Any]]:
        edge = Edge(seconds=0.01)
        first = asyncio.create_task(edge.request(scope()))
        await until_all_wait()
        refused = await edge.request(scope(path))
        edge.may_begin.set()
        edge.may_end.set()
        assert (await first)[0]["status"] == 200
        return refused

    start, body = asyncio.run(run())

    headers = dict(start["headers"])
    assert start["status"] == 503
    assert int(headers[b"retry-after"]) > 0
    if path == "/":
        assert b"The server is busy right now" in body["body"]
    else:
        error = json.loads(body["body"])["error"]
        assert "unavailable" in {error["code"], error.get("data", {}).get("code")}
