"""Both servers (`up web` and `up stream`) record when a request arrives, before the request waits
for a thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest

from wake.api.long_poll import arrived_at
from wake.server.http.body_limit import BodyLimit, Receive, Send
from wake.server.http.request_threads import RequestThreads

pytestmark = pytest.mark.once
BODY = {"type": "http.request", "body": b"{}", "more_body": False}


def scope() -> dict[str, Any]:
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/@home/reviewer",
        "query_string": b"",
        "headers": [(b"content-length", b"2")],
    }


async def _receive() -> Mapping[str, Any]:
    return BODY


async def _send(message: Mapping[str, Any]) -> None:
    """Discards the answer."""


def _through_wsgi() -> HttpRequest:
    requests: list[HttpRequest] = []

    def wsgi(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        requests.append(WSGIRequest(environ))
        start_response("200 OK", [])
        return [b""]

    asyncio.run(BodyLimit(RequestThreads(wsgi))(scope(), _receive, _send))
    return requests[0]


def _through_asgi() -> HttpRequest:
    requests: list[HttpRequest] = []

    async def asgi(scope: dict[str, Any], _: Receive, send: Send) -> None:
        requests.append(ASGIRequest(scope, BytesIO(b"{}")))
        await send({"type": "http.response.start"})

    asyncio.run(BodyLimit(asgi)(scope(), _receive, _send))
    return requests[0]


@pytest.mark.parametrize("through", [_through_wsgi, _through_asgi])
def test_a_request_says_when_it_arrived(through: Any) -> None:
    began = time.monotonic()
    request = through()
    ended = time.monotonic()

    assert began < arrived_at(request) < ended


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_request_without_a_body_is_answered_without_asking_for_one(method: str) -> None:
    answered: list[bytes] = []

    def wsgi(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [])
        answered.append(environ["wsgi.input"].read())
        return [b""]

    async def refuse() -> Mapping[str, Any]:
        raise AssertionError

    edge = BodyLimit(RequestThreads(wsgi))
    asyncio.run(edge({**scope(), "method": method, "headers": []}, refuse, _send))

    assert answered == [b""]
    for name in (b"content-length", b"transfer-encoding"):
        asked = edge({**scope(), "method": method, "headers": [(name, b"2")]}, refuse, _send)
        with pytest.raises(AssertionError):
            asyncio.run(asked)


def test_a_client_cannot_say_when_its_request_arrived() -> None:
    early = {"HTTP_WAKE_ARRIVED": "-5", "REQUEST_METHOD": "POST", "wsgi.input": BytesIO()}
    began = time.monotonic()

    assert arrived_at(WSGIRequest(early)) >= began
