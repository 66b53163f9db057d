"""A body that is too large is refused while it arrives, before Django stores any of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator

from wake.api.parsers import declared_length
from wake.server.http.body_limit import MAX_DRAINED_BYTES, App, BodyLimit, Receive, Send

LIMIT = 1_000


class Spooling:
    """Reads the whole body and then answers, as Django does."""

    def __init__(self) -> None:
        self.stored = 0
        self.was_left = False

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.was_left = True
                return
            self.stored += len(message.get("body", b""))
            if not message.get("more_body", False):
                break
        await send({"type": "http.response.start", "status": 201, "headers": []})
        await send({"type": "http.response.body", "body": b"stored"})


@pytest.fixture(autouse=True)
def _limit(settings: Any) -> None:
    settings.WAKE_MAX_BODY_BYTES = LIMIT
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * LIMIT
    settings.WAKE_MAX_A2A_BYTES = 3 * LIMIT
    settings.WAKE_MAX_BLOB_BYTES = 4 * LIMIT


@async_to_sync
async def post(
    app: App,
    parts: Sequence[bytes],
    *,
    path: str = "/wake/v1/deliver",
    declared: int | str | None = None,
) -> tuple[int, dict[bytes, bytes], bytes]:
    headers = [] if declared is None else [(b"content-length", str(declared).encode())]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
    client = ApplicationCommunicator(BodyLimit(app), scope)
    for part in parts:
        await client.send_input({"type": "http.request", "body": part, "more_body": True})
    await client.send_input({"type": "http.request", "body": b""})
    start = await client.receive_output()
    announced = declared_length(str(declared))
    is_complete = announced == sum(map(len, parts))  # then the last message is empty
    assert client.input_queue.qsize() == is_complete or announced > LIMIT + MAX_DRAINED_BYTES
    body = await client.receive_output()
    await client.wait()
    return start["status"], dict(start["headers"]), body["body"]


def test_a_body_up_to_the_limit_passes_untouched() -> None:
    app = Spooling()

    status, _, body = post(app, [b"x" * 600, b"x" * 400], declared=LIMIT)

    assert (status, body, app.stored) == (201, b"stored", LIMIT)


@pytest.mark.parametrize("path", ["/wake/v1/blobs", "/wake/v1/blobs/"])
def test_a_file_may_be_larger_than_a_delivery(path: str) -> None:
    assert post(Spooling(), [b"x" * 4 * LIMIT], path=path)[0] == 201
    assert post(Spooling(), [b"x" * (4 * LIMIT + 1)], path=path)[0] == 413
    assert post(Spooling(), [b"x" * (LIMIT + 1)], path="/wake/v1/blobs-of-others")[0] == 413


class ReadingOn:
    """Receives once more after the body, like an application that waits for the client to leave."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        self.messages = [dict(await receive()), dict(await receive())]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@async_to_sync
async def post_as_granian_does(app: App) -> None:
    """Sends a body of its declared length, an empty message that ends it, and the disconnect. The
    application waits for the last message of the body."""
    headers = [(b"content-length", b"5")]
    scope = {"type": "http", "method": "POST", "path": "/wake/v1/deliver", "headers": headers}
    client = ApplicationCommunicator(BodyLimit(app), scope)

    await client.send_input({"type": "http.request", "body": b"hello", "more_body": True})
    await client.send_input({"type": "http.request", "body": b"", "more_body": False})
    assert await client.receive_nothing()
    await client.send_input({"type": "http.disconnect"})
    assert (await client.receive_output())["status"] == 200


def test_after_a_body_of_its_declared_length_only_the_disconnect_is_received() -> None:
    app = ReadingOn()

    post_as_granian_does(app)

    assert app.messages == [
        {"type": "http.request", "body": b"hello", "more_body": False},
        {"type": "http.disconnect"},
    ]


def test_a_declared_length_above_the_limit_is_refused_unread() -> None:
    app = Spooling()

    status, headers, body = post(app, [b"x" * (LIMIT + 1)], declared=LIMIT + 1)

    assert (status, app.stored) == (413, 0)
    assert headers[b"content-type"] == b"application/json"
    assert headers[b"connection"] == b"close"
    assert json.loads(body)["error"]["code"] == "body_too_large"


def test_a_body_without_a_length_is_cut_off_at_the_limit() -> None:
    app = Spooling()

    status, _, body = post(app, [b"x" * 400] * 10)

    assert status == 413
    assert json.loads(body)["error"]["code"] == "body_too_large"
    assert app.was_left
    assert app.stored <= LIMIT


def test_a_body_with_an_invalid_length_is_counted() -> None:
    status, _, _ = post(Spooling(), [b"x" * (LIMIT + 1)], declared="+1")

    assert status == 413


def test_a_page_has_a_limit_of_its_own_and_answers_people() -> None:
    status, headers, body = post(Spooling(), [b"x" * (2 * LIMIT + 1)], path="/deliveries/1")

    assert status == 413
    assert headers[b"content-type"] == b"text/plain"
    assert body == b"This form is too large."


@pytest.mark.parametrize("path", ["/@garden/research-agent-01", "/connect/v1/poll"])
def test_a2a_requests_have_a_limit_and_a_json_error(path: str) -> None:
    app = Spooling()

    passed, _, _ = post(app, [b"x" * 3 * LIMIT], path=path)
    refused, _, body = post(Spooling(), [b"x" * (3 * LIMIT + 1)], path=path)

    assert (passed, app.stored) == (201, 3 * LIMIT)
    assert refused == 413
    assert json.loads(body)["error"]["code"] == "body_too_large"


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_mcp_gets_its_error_as_json_rpc(path: str) -> None:
    status, headers, body = post(Spooling(), [b"x" * (LIMIT + 1)], path=path)

    assert status == 413
    assert headers[b"content-type"] == b"application/json"
    answer = json.loads(body)
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", None)
    assert answer["error"]["code"] == 413
    assert answer["error"]["data"] == {"code": "body_too_large"}


def test_a_connection_that_announces_far_too_much_is_closed() -> None:
    status, _, _ = post(Spooling(), [b"x"] * 3, declared=LIMIT + MAX_DRAINED_BYTES + 1)

    assert status == 413


def test_a_large_body_is_drained_although_its_limit_is_large(settings: Any) -> None:
    """A client may send its whole body before it reads anything. Without draining, this client
    would never see the answer."""
    settings.WAKE_MAX_BLOB_BYTES = MAX_DRAINED_BYTES + 1
    body = b"x" * (MAX_DRAINED_BYTES + 2)

    status, _, _ = post(Spooling(), [body], path="/wake/v1/blobs", declared=len(body))

    assert status == 413


def test_a_length_of_more_digits_than_python_reads_is_too_large() -> None:
    status, _, _ = post(Spooling(), [b"x"] * 3, declared="9" * 5_000)

    assert status == 413


def test_other_connections_are_not_limited() -> None:
    requests = []

    async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        requests.append(scope["type"])

    async_to_sync(BodyLimit(app))({"type": "lifespan"}, None, None)  # type: ignore[arg-type]

    assert requests == ["lifespan"]
