"""Records spans with OpenTelemetry: of requests, jobs and callbacks, and of the statements of the
first two (docs/operations.md, Traces).

Spans have routes, hints of keys and ids, and no paths, values or messages of errors.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from contextvars import Token
from typing import Any

from celery.signals import task_postrun, task_prerun
from django.db import connection, connections
from django.db.backends.signals import connection_created
from opentelemetry import trace
from opentelemetry.context import Context, attach, detach
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from wake.api import log_context
from wake.callbacks import attempts, traces
from wake.models import Callback
from wake.server.http.body_limit import App, Message, Receive, Send
from wake.server.telemetry import statements
from wake.server.telemetry.request_log import UNLOGGED
from wake.server.telemetry.statements import Group, Groups

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
FAILED = Status(StatusCode.ERROR)
_w3c = TraceContextTextMapPropagator()


class Spans:
    """Makes the spans of this process with a provider of OpenTelemetry's SDK."""

    def __init__(self, provider: TracerProvider) -> None:
        self.tracer = provider.get_tracer("wake")
        self._jobs: dict[str, tuple[int, Token[Groups | None]]] = {}

    def install(self) -> ExitStack:
        """Begins to record jobs, callbacks and statements. Closing the returned stack ends it."""
        installed = ExitStack()
        for signal, receiver in (
            (task_prerun, self._begin_job),
            (task_postrun, self._end_job),
            (connection_created, _measure_statements),
        ):
            signal.connect(receiver, weak=False)
            installed.callback(signal.disconnect, receiver)
        for opened in connections.all(initialized_only=True):
            _measure_statements(opened)
        installed.callback(attempts.observe, attempts.observe(self._begin_callback))
        return installed

    def of_requests(self, app: App) -> App:
        """Wraps an ASGI application in spans, inside of RequestLog."""

        async def traced(scope: dict[str, Any], receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or scope["path"] in UNLOGGED:
                await app(scope, receive, send)
                return
            await self._trace(app, scope, receive, send)

        return traced

    async def _trace(self, app: App, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        facts = log_context.current()
        method = scope["method"] if scope["method"] in METHODS else "_OTHER"
        attributes = {"http.request.method": method, "url.scheme": scope["scheme"]}
        span = self.tracer.start_span(
            method, _parent(facts.traceparent), SpanKind.SERVER, attributes
        )
        if facts.traceparent:
            facts.traceparent = _traceparent_of(span)
        facts.trace_id = trace.format_trace_id(span.get_span_context().trace_id)
        status = 0

        async def send_and_see(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        token, groups = attach(trace.set_span_in_context(span)), statements.begin()
        try:
            await app(scope, receive, send_and_see)
        finally:
            self._add_statements(span, statements.end(groups))
            detach(token)
            known: dict[str, Any] = {"http.route": facts.route, "http.response.status_code": status}
            span.set_attributes({name: value for name, value in known.items() if value})
            span.set_attributes(_of_wake(facts.logged()))
            if facts.route:
                span.update_name(f"{method} {facts.route}")
            if status >= 500 or not status:
                span.set_status(FAILED)
            span.end()

    def _begin_job(self, task_id: str, **_: Any) -> None:
        self._jobs[task_id] = time.time_ns(), statements.begin()

    def _end_job(self, task_id: str, task: Any, state: str | None = None, **_: Any) -> None:
        """Makes the span of a job afterwards, because most jobs find nothing to do, several a
        second. Such a job has no span."""
        began, token = self._jobs.pop(task_id)
        groups, has_failed = statements.end(token), state != "SUCCESS"
        if not (has_failed or any(group.is_write for group in groups)):
            return
        span = self.tracer.start_span(f"job {task.name}", Context(), start_time=began)
        span.set_attributes({"wake.job": task.name, "wake.job_id": task_id})
        if has_failed:
            span.set_status(FAILED)
        self._add_statements(span, groups)
        span.end()

    def _begin_callback(self, callback: Callback, headers: Mapping[str, str]) -> attempts.Post:
        """Begins the span of one attempt. The receiver gets a trace only if the client sent one."""
        given = headers.get(traces.HEADER, "")
        about = callback.response.delivery_id if callback.response else callback.about
        attributes: dict[str, Any] = {
            "http.request.method": "POST",
            "server.address": callback.host,
            "wake.callback": callback.kind,
            "wake.delivery_id" if callback.response else "wake.task_id": str(about),
            "http.request.resend_count": max(0, callback.tries - 1),
        }
        span = self.tracer.start_span("POST", _parent(given), SpanKind.CLIENT, attributes)

        def end(result: attempts.Result) -> None:
            if result.status_code is not None:
                span.set_attribute("http.response.status_code", result.status_code)
            if not result.arrived:
                span.set_status(FAILED)
            span.end()

        return {**headers, **({traces.HEADER: _traceparent_of(span)} if given else {})}, end

    def _add_statements(self, span: Span, groups: Iterable[Group]) -> None:
        """Adds a span for each group, from its first statement to the end of its last."""
        inside = trace.set_span_in_context(span, Context())
        for group in groups:
            attributes: dict[str, Any] = {
                "db.system.name": connection.vendor,
                "db.operation.name": group.operation,
                "db.collection.name": group.table,
                "db.operation.batch.size": group.count,
                "wake.statements_ms": group.took / 1e6,
            }
            name = f"{group.operation} {group.table}".strip()
            made = self.tracer.start_span(
                name, inside, SpanKind.CLIENT, attributes, start_time=group.began
            )
            made.end(group.ended)


def _measure_statements(connection: Any, **_: Any) -> None:
    if statements.measure not in connection.execute_wrappers:
        connection.execute_wrappers.append(statements.measure)


def _parent(traceparent: str) -> Context:
    return _w3c.extract({traces.HEADER: traceparent}, Context())


def _traceparent_of(span: Span) -> str:
    carrier: dict[str, str] = {}
    _w3c.inject(carrier, trace.set_span_in_context(span, Context()))
    return carrier[traces.HEADER]


def _of_wake(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        f"wake.{name}": value if isinstance(value, int) else str(value)
        for name, value in facts.items()
        if name != "trace_id"
    }
