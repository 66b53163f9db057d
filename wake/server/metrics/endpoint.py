"""Serves the metrics at /metrics of the usual port, to those who have the token."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.conf import settings
from prometheus_client.exposition import choose_encoder

from wake.server.http.body_limit import App, Receive, Send
from wake.server.http.headers import HyphenatedHeaders
from wake.server.metrics import exposition

PATH = "/metrics"
BEARER = b"bearer "


def with_metrics(app: HyphenatedHeaders) -> HyphenatedHeaders | MetricsEndpoint:
    """Returns the ASGI application with the metrics, or unchanged if no token is set. Then /metrics
    is a path like any that does not exist."""
    return MetricsEndpoint(app, settings.WAKE_METRICS_TOKEN) if settings.WAKE_METRICS_TOKEN else app


class MetricsEndpoint:
    """Answers before Django does: with a thread of its own, it answers while a slow database holds
    all other threads. It takes any host name, because Prometheus asks for each process by its
    address."""

    def __init__(self, app: App, token: str) -> None:
        self.app = app
        self.token = token.encode()
        self.thread = ThreadPoolExecutor(1, "metrics")
        self.registry = exposition.registry()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH:
            await self.app(scope, receive, send)
        elif scope["method"] not in {"GET", "HEAD"}:
            await _answer(send, 405, headers={"allow": "GET, HEAD"})
        elif not self._knows_token(scope):
            await _answer(send, 401, headers={"www-authenticate": 'Bearer realm="metrics"'})
        else:
            headers = dict(scope["headers"])
            encode, content_type = choose_encoder(headers.get(b"accept", b"").decode("latin-1"))
            write: Callable[[], bytes] = lambda: encode(self.registry)  # noqa: E731
            text = await asyncio.get_running_loop().run_in_executor(self.thread, write)
            await _answer(send, 200, text, headers={"content-type": content_type})

    def _knows_token(self, scope: dict[str, Any]) -> bool:
        """Compares in a time that does not depend on how much of the token is right."""
        given = dict(scope["headers"]).get(b"authorization", b"")
        is_bearer = given[: len(BEARER)].lower() == BEARER
        return secrets.compare_digest(given[len(BEARER) :].strip(), self.token) and is_bearer


async def _answer(
    send: Send, status: int, content: bytes = b"", *, headers: dict[str, str]
) -> None:
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    encoded += [(b"cache-control", b"no-store"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": content})
