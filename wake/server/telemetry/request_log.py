"""Gives each request an id, and writes a line of the log for it (docs/operations.md, Logs)."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from database.uuids import uuid_or_none
from wake.api import log_context
from wake.api.log_context import LogFacts
from wake.callbacks import traces
from wake.server.http.body_limit import App, Message, Receive, Send
from wake.server.telemetry.json_lines import EXTRA
from wake.server.telemetry.start import traced

log = logging.getLogger(__name__)

HEADER = b"x-request-id"
TRACEPARENT = traces.HEADER.encode()
# An id becomes part of log lines and headers, so it has no spaces, quotes or line breaks.
SAFE_ID = re.compile(rb"[0-9A-Za-z._:-]{1,64}").fullmatch
SWITCHING_PROTOCOLS, FORBIDDEN = 101, 403
PAGES_OF_A_DELIVERY = "deliveries/<uuid:pk>"
# Probes ask every few seconds.
UNLOGGED = {"/healthz", "/readyz"}


class RequestLog:
    """Wraps an ASGI application. Each response has the header X-Request-ID: the client's id if it
    sent one that is safe, and a new id otherwise. With WAKE_LOG=json, each request has one line."""

    def __init__(self, app: App, *, writes_lines: bool | None = None) -> None:
        self.app = traced(app)
        self.writes_lines = settings.WAKE_LOG == "json" if writes_lines is None else writes_lines

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        facts = _facts_of(scope["headers"])
        answer = _LoggedAnswer(send, facts.request_id.encode())
        began_at = time.perf_counter()
        token = log_context.begin(facts)
        try:
            await self.app(scope, receive, answer.send)
        finally:
            if self.writes_lines and scope["path"] not in UNLOGGED:
                _write_line(scope, answer.status, seconds=time.perf_counter() - began_at)
            log_context.end(token)


class _LoggedAnswer:
    """Adds the request's id to the answer, and remembers the status. The status is None if the
    client left before there was an answer."""

    def __init__(self, send: Send, request_id: bytes) -> None:
        self._send = send
        self._header = (HEADER, request_id)
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        match message["type"]:
            case "http.response.start":
                self.status = message["status"]
                message = {**message, "headers": [*message["headers"], self._header]}
            case "websocket.accept":
                self.status = SWITCHING_PROTOCOLS
            case "websocket.close" if self.status is None:
                self.status = FORBIDDEN
        await self._send(message)


def _facts_of(headers: Iterable[tuple[bytes, bytes]]) -> LogFacts:
    request_id, traceparents = b"", []
    for name, value in headers:
        if name == HEADER:
            request_id = value
        elif name == TRACEPARENT:
            traceparents.append(value)
    is_safe = SAFE_ID(request_id) is not None
    facts = LogFacts(request_id.decode() if is_safe else os.urandom(8).hex(), is_safe)
    if len(traceparents) == 1:
        facts.traceparent = traces.read(traceparents[0].decode("latin-1"))
        facts.trace_id = traces.trace_of(facts.traceparent)
    return facts


def _write_line(scope: dict[str, Any], status: int | None, *, seconds: float) -> None:
    """Writes the route, such as `/deliveries/<uuid:delivery_id>/`, because a path and its query may
    have what a person searched for. An address that does not exist has no route."""
    method = scope.get("method", "WEBSOCKET")
    route = log_context.current().route
    facts = {
        "method": method,
        "route": route or None,
        "status": status,
        "duration_ms": round(seconds * 1000, 1),
    }
    log.info("%s %s %s", method, route or "-", status or "-", extra={EXTRA: facts})


class RouteKnown:
    """Adds the route of each request to its facts, and the delivery that the address names."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if (resolved := request.resolver_match) is not None:
            facts = log_context.current()
            facts.route = f"/{resolved.route}"
            name = "pk" if resolved.route.startswith(PAGES_OF_A_DELIVERY) else "delivery_id"
            if facts.delivery_id is None and (id := resolved.kwargs.get(name)):
                facts.delivery_id = uuid_or_none(str(id))
        elif request.path_info.startswith(settings.STATIC_URL):
            log_context.current().route = settings.STATIC_URL
        return response
