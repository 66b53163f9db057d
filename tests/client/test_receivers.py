"""Receivers verify a callback, handle each answer once, and respond with 204."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from django.test import RequestFactory, override_settings
from django.urls import path
from starlette.applications import Starlette

from tests.client.test_webhooks import BODY, SECRET
from tests.fixtures.strict_client import Client
from wake.callbacks import signatures
from wake_client import Answer, Receiver, receivers

URL = "https://hooks.example.com/wake"
handled: list[Answer] = []
urlpatterns = [path("wake", Receiver(SECRET, handled.append).django_view())]


def signed(body: bytes = BODY) -> dict[str, str]:
    return signatures.sign(body, secrets=(SECRET,), message_id="m", at=datetime.now(UTC))


class Edge:
    """Sends a callback to a receiver by way of a framework, and returns the status code."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.answers: list[Answer] = []
        self.receiver = Receiver(SECRET, self._later if "awaited" in name else self.answers.append)

    def send(self, body: bytes, headers: dict[str, str], method: str = "POST") -> int:
        if self.name == "django":
            request = RequestFactory().generic(
                method, "/wake", body, content_type="application/json", headers=headers
            )
            return int(self.receiver.django_view()(request).status_code)
        return asyncio.run(self._asgi(body, headers, method))

    async def _asgi(self, body: bytes, headers: dict[str, str], method: str) -> int:
        transport = httpx.ASGITransport(self.receiver)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport) as http:
            return (await http.request(method, URL, content=body, headers=headers)).status_code

    async def _later(self, answer: Answer) -> None:
        self.answers.append(answer)


@pytest.fixture(params=["asgi", "asgi, awaited", "django"])
def edge(request: pytest.FixtureRequest) -> Edge:
    return Edge(request.param)


def test_an_answer_is_handled_once(edge: Edge) -> None:
    assert [edge.send(BODY, signed()) for _ in range(3)] == [204, 204, 204]
    assert [answer.feedback for answer in edge.answers] == ["Cut section 3."]


def test_a_test_callback_is_not_handled(edge: Edge) -> None:
    body = json.dumps({**json.loads(BODY), "status": "pending"}).encode()

    assert edge.send(body, signed(body)) == 204
    assert edge.answers == []


@pytest.mark.parametrize(
    ("body", "method", "status"),
    [
        (BODY + b" ", "POST", 401),
        (BODY, "GET", 405),
        (b"[]", "POST", 400),
        (b"x" * (receivers.MAX_BYTES + 1), "POST", 413),
    ],
)
def test_another_request_is_not_handled(edge: Edge, body: bytes, method: str, status: int) -> None:
    headers = signed(BODY if status == 401 else body)

    assert edge.send(body, headers, method) == status
    assert edge.answers == []


def test_an_unsigned_request_is_not_handled(edge: Edge) -> None:
    assert edge.send(BODY, {}) == 401
    assert edge.answers == []


def test_an_answer_whose_handling_failed_is_handled_when_it_comes_again(edge: Edge) -> None:
    handle = edge.receiver.handle
    edge.receiver.handle = lambda answer: 1 / 0

    with pytest.raises(ZeroDivisionError):
        edge.send(BODY, signed())
    edge.receiver.handle = handle

    assert edge.send(BODY, signed()) == 204
    assert len(edge.answers) == 1


@pytest.mark.parametrize("added", ["/wake", "/wake/"])
@pytest.mark.parametrize("path", ["/wake", "/wake/"])
def test_starlette_takes_callbacks_with_and_without_a_slash(added: str, path: str) -> None:
    """`app.mount` answers a POST to /wake with 307, and Wake follows no redirects."""
    answers: list[Answer] = []
    app = Starlette()
    Receiver(SECRET, answers.append).add_to(app, added)

    assert _status(app, path) == 204
    assert len(answers) == 1


def test_a_receiver_may_be_the_whole_application() -> None:
    answers: list[Answer] = []
    app = Starlette()
    Receiver(SECRET, answers.append).add_to(app, "/")

    assert (_status(app, "/"), _status(app, ""), len(answers)) == (204, 204, 1)


def _status(app: Starlette, path: str) -> int:
    async def send() -> int:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http:
            url = f"https://hooks.example.com{path}"
            return (await http.post(url, content=BODY, headers=signed())).status_code

    return asyncio.run(send())


@override_settings(ROOT_URLCONF=__name__)
@pytest.mark.django_db
def test_django_needs_no_csrf_token_for_it() -> None:
    client = Client(sends_tokens=False)

    answer = client.post("/wake", BODY, content_type="application/json", headers=signed())

    assert (answer.status_code, len(handled)) == (204, 1)


def test_a_memory_does_not_grow_for_ever() -> None:
    seen = receivers.SeenInMemory(max_ids=2)
    for id in "abc":
        seen.add(id)

    assert [id in seen for id in "abc"] == [False, True, True]


def test_a_websocket_is_not_for_it() -> None:
    receiver: Any = Receiver(SECRET, print)

    with pytest.raises(RuntimeError):
        asyncio.run(receiver({"type": "websocket"}, None, None))
