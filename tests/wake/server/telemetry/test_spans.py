"""With OpenTelemetry, the spans of requests, jobs, callbacks and statements form the client's
trace, and have no content."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from asgiref.sync import async_to_sync
from celery import shared_task
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from accounts.models import User
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from tests.types import Answer
from tests.wake.callbacks.receiver import Receiver, answering
from tests.wake.server.telemetry.collected import names_of, received_by
from tests.wake.server.up import eventually
from wake import jobs
from wake.callbacks.sending import send_due
from wake.models import Delivery
from wake.server.http.request_threads import RequestThreads
from wake.server.telemetry import statements
from wake.server.telemetry.request_log import RequestLog
from wake.server.telemetry.spans import Spans
from wake.server.telemetry.start import wants_traces
from wake.server.wsgi import application as wsgi

MARK = "saffroninthesafe"
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{SPAN}-01"
Recorded = Callable[[], list[ReadableSpan]]


@pytest.fixture
def spans() -> Iterator[tuple[Spans, Recorded]]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans = Spans(provider)
    with spans.install():
        yield spans, lambda: list(exporter.get_finished_spans())


@pytest.fixture
def recorded(spans: tuple[Spans, Recorded]) -> Recorded:
    return spans[1]


@pytest.fixture
def ask(spans: tuple[Spans, Recorded]) -> Callable[..., httpx.Response]:
    """Returns a function that asks the server with threads, in this process."""
    app = RequestLog(spans[0].of_requests(RequestThreads(wsgi)))

    @async_to_sync
    async def ask(method: str, path: str, **given: Any) -> httpx.Response:
        transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, **given)

    return ask


def named(spans: list[ReadableSpan]) -> dict[str, ReadableSpan]:
    return {span.name: span for span in spans}


def of(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


@pytest.mark.django_db(transaction=True)
def test_a_request_has_a_span_with_its_statements(
    ask: Callable[..., httpx.Response], recorded: Recorded, caller: AgentClient
) -> None:
    headers = caller.headers | {"traceparent": TRACEPARENT}

    response = ask("POST", "/wake/v1/deliver", json=caller.payload(), headers=headers)

    found = named(recorded())
    request = found["POST /wake/v1/deliver"]
    assert request.kind == SpanKind.SERVER
    assert request.parent is not None
    assert f"{request.parent.span_id:016x}" == SPAN
    assert (
        of(request).items()
        >= {
            "http.request.method": "POST",
            "http.route": "/wake/v1/deliver",
            "http.response.status_code": 201,
            "wake.delivery_id": response.json()["delivery_id"],
            "wake.key": caller.key.hint,
            "wake.request_id": response.headers["X-Request-ID"],
        }.items()
    )
    inner = [span for span in found.values() if span.parent == request.context]
    assert any(of(span)["db.collection.name"].startswith(("wake", "accounts")) for span in inner)
    assert all(of(span)["db.operation.batch.size"] >= 1 for span in inner)
    assert {f"{span.context.trace_id:032x}" for span in found.values() if span.context} == {TRACE}


@pytest.mark.django_db(transaction=True)
def test_the_stored_trace_goes_on_from_the_requests_span(
    ask: Callable[..., httpx.Response], recorded: Recorded, caller: AgentClient
) -> None:
    headers = caller.headers | {"traceparent": TRACEPARENT}

    ask("POST", "/wake/v1/deliver", json=caller.payload(), headers=headers)

    request = named(recorded())["POST /wake/v1/deliver"]
    assert request.context is not None
    stored = f"00-{TRACE}-{request.context.span_id:016x}-01"
    assert Delivery.objects.get().traceparent == stored


@pytest.mark.django_db(transaction=True)
def test_a_client_that_sent_no_trace_gets_none(
    ask: Callable[..., httpx.Response], recorded: Recorded, caller: AgentClient
) -> None:
    ask("POST", "/wake/v1/deliver", json=caller.payload(), headers=caller.headers)

    assert named(recorded())["POST /wake/v1/deliver"].parent is None
    assert Delivery.objects.get().traceparent is None


def test_probes_and_unknown_methods_need_no_spans_of_their_own(
    ask: Callable[..., httpx.Response], recorded: Recorded
) -> None:
    ask("GET", "/healthz")
    ask(MARK.upper(), "/wake/v1")

    (span,) = recorded()
    assert span.name == "_OTHER /wake/v1"


def fail(request: HttpRequest) -> HttpResponse:
    raise KeyError(MARK)


@shared_task
def fail_at_work() -> None:
    raise KeyError(MARK)


urlpatterns = [path("wake/fails", fail)]


@override_settings(ROOT_URLCONF=__name__)
def test_a_failed_request_has_no_message_of_its_error(
    ask: Callable[..., httpx.Response], recorded: Recorded
) -> None:
    assert ask("GET", "/wake/fails").status_code == 500

    (span,) = (span for span in recorded() if span.kind == SpanKind.SERVER)
    assert span.status.status_code == StatusCode.ERROR
    assert MARK not in span.to_json()


def test_a_callback_has_a_span_in_the_trace_of_its_delivery(
    recorded: Recorded, caller: AgentClient, receiver: Receiver, answer: Answer
) -> None:
    traced, plain = (
        caller.deliver(callback_webhook=receiver.url),
        caller.deliver(callback_webhook=receiver.url),
    )
    Delivery.objects.filter(pk=traced).update(traceparent=TRACEPARENT)
    for pk in (traced, plain):
        answer(pk)
    receiver.then(answering(500))

    send_due()

    sent = {of(span)["wake.delivery_id"]: span for span in recorded() if span.name == "POST"}
    got = {each.headers["X-Wake-Delivery-Id"]: each.headers for each in receiver.received}
    span = sent[traced]
    assert span.context is not None
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == SPAN
    assert got[traced]["traceparent"] == f"00-{TRACE}-{span.context.span_id:016x}-01"
    assert "traceparent" not in got[plain]
    assert sent[plain].parent is None
    codes = {of(each)["http.response.status_code"]: each.status for each in sent.values()}
    assert codes.keys() == {200, 500}
    assert codes[500].status_code == StatusCode.ERROR
    assert MARK not in str([each.to_json() for each in recorded()])


@pytest.mark.django_db
def test_only_a_job_that_does_something_has_a_span(recorded: Recorded) -> None:
    jobs.escalate_due.apply()
    jobs.beat.apply()
    fail_at_work.apply()

    found = named(recorded())
    assert {name for name in found if name.startswith("job ")} == {
        "job wake.jobs.beat",
        f"job {fail_at_work.name}",
    }
    assert found[f"job {fail_at_work.name}"].status.status_code == StatusCode.ERROR
    assert MARK not in str([span.to_json() for span in recorded()])


@pytest.mark.parametrize(
    ("sql", "described"),
    [
        ('SELECT 1 FROM "wake_delivery" WHERE x = %s', ("SELECT", "wake_delivery")),
        ('INSERT INTO "wake_delivery" ("id") VALUES (%s)', ("INSERT", "wake_delivery")),
        ('UPDATE "wake_callback" SET "due_at" = NULL', ("UPDATE", "wake_callback")),
        ('DELETE FROM "wake_draft"', ("DELETE", "wake_draft")),
        (
            'WITH "a" AS (SELECT "id" FROM "accounts_agent" FOR UPDATE), "d" AS (INSERT INTO '
            '"wake_delivery" SELECT FROM "a") SELECT * FROM "a"',
            ("INSERT", "wake_delivery"),
        ),
        ("SAVEPOINT x", ("SAVEPOINT", "")),
        (f"SELECT '{MARK}'", ("SELECT", "")),
        ("", ("", "")),
    ],
)
def test_a_statement_is_described_by_its_operation_and_table(
    sql: str, described: tuple[str, str]
) -> None:
    assert statements.described(sql) == described


@pytest.mark.django_db
def test_nothing_is_measured_afterwards(recorded: Recorded, alice: User) -> None:
    before = len(connection.execute_wrappers)

    User.objects.count()

    assert len(connection.execute_wrappers) == before
    assert recorded() == []


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False),
    ],
)
def test_the_variables_of_the_sdk_decide(variables: dict[str, str], wanted: bool) -> None:
    assert wants_traces(variables) == wanted


@pytest.mark.django_db(transaction=True)
@pytest.mark.system
def test_a_server_sends_its_spans_over_otlp(
    caller: AgentClient, start_receiver: Callable[..., Receiver]
) -> None:
    collector = start_receiver()
    origin = collector.url.removesuffix("/hook")
    body = caller.payload(headline=MARK, summary=MARK, details={"title": MARK}, thread=MARK)
    headers = caller.headers | {"traceparent": TRACEPARENT, "Idempotency-Key": MARK}

    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": origin,
        "OTEL_RESOURCE_ATTRIBUTES": "deployment=test",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    with served("wsgi", **variables) as server:
        httpx.post(f"{server}/wake/v1/deliver", json=body, headers=headers)
        httpx.get(f"{server}/history/", params={"q": MARK})
        eventually(lambda: "GET /history/" in names_of(collector))

    found = names_of(collector)
    assert found["POST /wake/v1/deliver"] == TRACE
    assert found["GET /history/"] != TRACE
    assert MARK.encode() not in b"".join(each.body for each in collector.received)
    resource = received_by(collector)[0].resource_spans[0].resource
    attributes = {each.key: each.value.string_value for each in resource.attributes}
    assert attributes.items() >= {"service.name": "wake", "deployment": "test"}.items()
