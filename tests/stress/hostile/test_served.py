"""A real server handles chunked bodies, raw header bytes and interrupted requests."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from wake.models import Delivery

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

CONTENT_TYPES = [
    "x; charset*=utf-8''%00",
    "x; charset*=bogus''%41",
    "x; charset=undefined",
    "x; charset=hex",
    "x; charset=utf-16",
    "multipart/form-data; boundary*=bogus''x",
    "text/html; charset=utf-8",
    "; ; ;",
    "\xff; \xff=\xff",
]


@pytest.fixture(params=["asgi", "wsgi"])
def origin(db: None, request: pytest.FixtureRequest) -> Iterator[str]:
    with served(request.param) as origin:
        yield origin


def test_the_server_survives_any_bytes(
    origin: str, caller: AgentClient, subtests: pytest.Subtests
) -> None:
    """One server gets all these requests, and must still answer after each of them."""
    with httpx.Client(base_url=origin, headers=caller.headers, timeout=60) as client:
        body = json.dumps(caller.payload()).encode()

        with subtests.test("chunked bodies were taken for empty ones"):
            answer = client.post("/wake/v1/deliver", content=iter([body[:30], body[30:]]))
            assert answer.status_code == 201, answer.text
            assert client.post("/wake/v1/deliver", content=iter([b""])).status_code == 400
        with subtests.test("an empty chunked body was no JSON"):
            path = f"/wake/v1/withdraw/{answer.json()['delivery_id']}"
            assert client.post(path, content=iter([b""])).status_code == 200
        with subtests.test("a chunked body above the limit"):
            assert _status_of_a_large_body(origin, caller) == 413
        with subtests.test("a declared body above the limit"):
            answer = client.post("/wake/v1/deliver", content=b"x" * 262_145)
            assert answer.status_code == 413
            assert answer.json()["error"]["code"] == "body_too_large"
        for content_type in CONTENT_TYPES:
            with subtests.test(f"the Content-Type {content_type!a}"):
                headers = httpx.Headers({"Content-Type": content_type}, encoding="latin-1")
                posted = client.post("/wake/v1/deliver", content=body, headers=headers)
                assert posted.status_code == 201, posted.text
                swept = client.get("/wake/v1/responses?agent_id=%41", headers=headers)
                assert swept.status_code == 200, swept.text
        with subtests.test("a HEAD"):
            answer = client.head("/wake/v1/responses")
            assert (answer.status_code, answer.content) == (405, b"")
        with subtests.test("long headers"):
            assert client.get("/wake/v1", headers={"X-Long": "x" * 30_000}).status_code == 200
            assert client.get("/wake/v1", headers={"X-Long": "x" * 100_000}).status_code == 431
    for request in RAW:
        with subtests.test(repr(request)):
            assert _raw(origin, request) < 500
    assert httpx.get(f"{origin}/wake/v1").status_code == 200
    assert Delivery.objects.count() == 1 + len(CONTENT_TYPES)


RAW = [
    b"GET /wake/v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\xfe\r\n\r\n",
    b"GET /wake/%ff%fe/%00 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /wake/v1/responses?%ff=%00&\xc3\xa9 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://evil.example/wake/v1/responses HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET //evil.example/wake/v1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /wake/v1/deliver HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST /wake/v1/deliver HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n{",
    b"POST /wake/v1/deliver HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /wake/v1 HTTP/1.1\r\nHost: x\r\nX_Y: 1\r\nContent_Length: 5\r\n\r\n",
    b"GET /wake/v1 HTTP/1.0\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
]


def _raw(origin: str, request: bytes) -> int:
    """Returns the status code, or 0 when the server hangs up."""
    address = urlsplit(origin)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        first = connection.makefile("rb").readline()
    return int(first.split()[1]) if first.startswith(b"HTTP/") else 0


def _status_of_a_large_body(origin: str, caller: AgentClient) -> int:
    chunks = iter([b"x" * 65_536] * 40)
    try:
        return httpx.post(
            f"{origin}/wake/v1/deliver", headers=caller.headers, content=chunks, timeout=60
        ).status_code
    except httpx.WriteError:
        # The server answered while the test was still writing, and then closed the connection.
        return 413
