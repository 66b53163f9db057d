"""Each request has an id, which its answer and its lines of the log have, too. With WAKE_LOG=json,
each request has one line."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import Resolver404, resolve

from relay.api import errors, methods
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from wake.api import log_context
from wake.api.log_context import LogFacts
from wake.server.asgi import application as asgi
from wake.server.http.error_handlers import server_error
from wake.server.http.request_threads import RequestThreads
from wake.server.telemetry.json_lines import JsonFormatter
from wake.server.telemetry.request_log import RequestLog, RouteKnown
from wake.server.wsgi import application as wsgi

CAPABILITIES, UNKNOWN = "/wake/v1", "/wake/v1/response/saffron"
GIVEN = "0f8fad5b-d9cb-469f-a165-70867728950e"
TOO_LONG = "x" * 65

# The two servers, as wake/server/web.py and wake/server/asgi.py put them together.
SERVERS: dict[str, Any] = {"threads": RequestLog(RequestThreads(wsgi)), "asgi": asgi}


@pytest.fixture(params=SERVERS)
def ask(request: pytest.FixtureRequest) -> Callable[..., httpx.Response]:
    """Returns a function that asks one of the servers in this process."""

    @async_to_sync
    async def ask(path: str, **headers: str) -> httpx.Response:
        transport = httpx.ASGITransport(SERVERS[request.param])
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.get(path, headers=headers)

    return ask


@pytest.fixture
def lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Returns a function that returns the lines that Wake has logged so far."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    ours = logging.getLogger("wake")
    ours.addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    ours.removeHandler(handler)


@pytest.fixture
def facts() -> Iterator[LogFacts]:
    """Yields the facts of a request that this test makes."""
    facts = LogFacts()
    token = log_context.begin(facts)
    yield facts
    log_context.end(token)


def logged_request(path: str = CAPABILITIES, status: int = 200, **scope: Any) -> None:
    """Sends a request to a server that writes lines."""

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        log_context.current().route = "/the/<str:route>"
        if status:
            await send({"type": "http.response.start", "status": status, "headers": []})
        else:
            raise ConnectionResetError

    async def send(*message: Any) -> Any:
        pass

    async def ask() -> None:
        given = {"type": "http", "method": "GET", "path": path, "headers": []} | scope
        await RequestLog(app, writes_lines=True)(given, send, send)

    with suppress(ConnectionResetError):
        asyncio.run(ask())


def test_each_response_has_a_new_id(ask: Callable[..., httpx.Response]) -> None:
    ids = {ask(CAPABILITIES).headers["X-Request-ID"] for _ in range(2)}

    assert len(ids) == 2
    assert all(len(id) == 16 for id in ids)


def test_the_clients_own_id_is_sent_back(ask: Callable[..., httpx.Response]) -> None:
    assert ask(CAPABILITIES, **{"X-Request-ID": GIVEN}).headers["X-Request-ID"] == GIVEN


@pytest.mark.parametrize("given", ["", "two words", "a\tb", 'say "hi"', "a/b", TOO_LONG])
def test_an_id_that_is_not_safe_is_replaced(ask: Callable[..., httpx.Response], given: str) -> None:
    response = ask(UNKNOWN, **{"X-Request-ID": given})

    assert response.headers["X-Request-ID"] != given
    assert "request_id" not in response.json()["error"]


def test_an_error_has_the_id_only_if_the_client_sent_one(
    ask: Callable[..., httpx.Response],
) -> None:
    silent, asked = ask(UNKNOWN), ask(UNKNOWN, **{"X-Request-ID": GIVEN})

    assert asked.json() == {"error": silent.json()["error"] | {"request_id": GIVEN}}


def test_errors_of_mcp_and_a2a_have_the_id(facts: LogFacts, client: Client) -> None:
    facts.request_id, facts.is_from_client = GIVEN, True

    mcp = client.post("/mcp", {}, content_type="application/json").json()
    a2a = errors.body_of(1, methods.VersionNotSupported("This agent speaks A2A 1.0."))

    assert mcp["error"]["data"]["request_id"] == GIVEN
    assert a2a["error"]["data"][-1] == {
        "@type": "type.googleapis.com/google.rpc.RequestInfo",
        "requestId": GIVEN,
    }


@pytest.mark.django_db
def test_an_error_page_has_the_id(facts: LogFacts) -> None:
    facts.request_id = GIVEN

    page = server_error(RequestFactory().get("/"))

    assert f"<code>{GIVEN}</code>" in page.content.decode()


def test_a_request_has_one_line(lines: Callable[[], list[dict[str, Any]]]) -> None:
    logged_request(headers=[(b"x-request-id", b"abc-1")])

    (line,) = lines()
    assert line.pop("time").endswith("Z")
    assert line.pop("duration_ms") >= 0
    assert line == {
        "level": "INFO",
        "logger": "wake.server.telemetry.request_log",
        "message": "GET /the/<str:route> 200",
        "request_id": "abc-1",
        "method": "GET",
        "route": "/the/<str:route>",
        "status": 200,
    }


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_have_no_line(lines: Callable[[], list[dict[str, Any]]], path: str) -> None:
    logged_request(path)

    assert lines() == []


def test_a_request_whose_client_left_has_a_line(
    lines: Callable[[], list[dict[str, Any]]],
) -> None:
    logged_request(status=0)

    assert [line["status"] for line in lines()] == [None]


def test_text_logs_have_no_line_for_a_request(
    ask: Callable[..., httpx.Response], lines: Callable[[], list[dict[str, Any]]]
) -> None:
    ask(CAPABILITIES)

    assert lines() == []


@pytest.mark.parametrize(
    ("path", "route", "delivery_id"),
    [
        ("/wake/v1/response/saffron", "/wake/v1/response/<str:delivery_id>", None),
        (f"/wake/v1/response/{GIVEN}", "/wake/v1/response/<str:delivery_id>", GIVEN),
        (f"/deliveries/{GIVEN}/", "/deliveries/<uuid:pk>/", GIVEN),
        (f"/tasks/{GIVEN}/", "/tasks/<uuid:pk>/", None),
        ("/static/css/base.css", "/static/", None),
        ("/saffron", "", None),
    ],
)
def test_the_facts_have_the_route_and_never_the_path(
    facts: LogFacts, path: str, route: str, delivery_id: str | None
) -> None:
    request = RequestFactory().get(path)
    with suppress(Resolver404):
        request.resolver_match = resolve(path)

    RouteKnown(lambda request: HttpResponse())(request)

    assert facts.route == route
    assert str(facts.delivery_id or "") == (delivery_id or "")


def test_the_facts_have_the_delivery_and_the_hint_of_the_key(
    facts: LogFacts, caller: AgentClient
) -> None:
    delivery_id = caller.deliver()

    assert str(facts.delivery_id) == delivery_id
    assert facts.key == caller.key.hint
    assert facts.team == caller.key.agent.team_id
