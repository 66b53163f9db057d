"""At /metrics of the usual port, only those who have the token get figures."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from prometheus_client.parser import text_string_to_metric_families

from wake.server.http.headers import HyphenatedHeaders
from wake.server.metrics.endpoint import with_metrics

TOKEN = "a-token-of-many-characters"


async def django(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 404, "headers": []})
    await send({"type": "http.response.body", "body": b"No such page."})


@async_to_sync
async def ask(
    path: str = "/metrics", *, method: str = "GET", authorization: str = ""
) -> tuple[int, dict[bytes, bytes], bytes]:
    headers = [(b"authorization", authorization.encode())] if authorization else []
    scope = {"type": "http", "method": method, "path": path, "headers": headers}
    client = ApplicationCommunicator(with_metrics(HyphenatedHeaders(django)), scope)
    await client.send_input({"type": "http.request"})
    start, body = await client.receive_output(10), await client.receive_output(10)
    return start["status"], dict(start["headers"]), body["body"]


@pytest.fixture
def token(settings: Any) -> str:
    settings.WAKE_METRICS_TOKEN = TOKEN
    return TOKEN


def test_without_a_token_the_path_does_not_exist() -> None:
    assert ask(authorization=f"Bearer {TOKEN}") == ask("/no-such-page") == (404, {}, ask()[2])


@pytest.mark.parametrize(
    "authorization",
    [
        *("", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}"),
        *(TOKEN, f"Bearer {TOKEN} {TOKEN}", "Bearer ü", f"Bearer {'x' * 10_000}"),
    ],
)
def test_a_wrong_token_gets_nothing(token: str, authorization: str) -> None:
    status, headers, body = ask(authorization=authorization)

    assert (status, body) == (401, b"")
    assert headers[b"www-authenticate"].startswith(b"Bearer")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_token_gets_the_figures(token: str, scheme: str) -> None:
    status, headers, body = ask(authorization=f"{scheme} {token}")

    assert (status, headers[b"cache-control"]) == (200, b"no-store")
    assert headers[b"content-type"].startswith(b"text/plain; version=")
    names = {family.name for family in text_string_to_metric_families(body.decode())}
    assert {"http_server_request_duration_seconds", "wake_pending_deliveries"} <= names


def test_only_reading_is_allowed(token: str) -> None:
    status, headers, _ = ask(method="POST", authorization=f"Bearer {token}")

    assert (status, headers[b"allow"]) == (405, b"GET, HEAD")


def test_other_paths_are_djangos(token: str) -> None:
    assert ask("/metrics/", authorization=f"Bearer {token}")[0] == 404
