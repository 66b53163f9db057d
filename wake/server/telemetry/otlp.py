"""Sends spans over OTLP. OpenTelemetry's SDK reads its own variables, such as
OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_RESOURCE_ATTRIBUTES and OTEL_TRACES_SAMPLER."""

from __future__ import annotations

import threading
from collections.abc import Callable
from multiprocessing.util import Finalize
from typing import Any

from celery.signals import worker_process_shutdown, worker_shutdown
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from wake.server.http.body_limit import App
from wake.server.telemetry.spans import Spans

# A process that ends waits this long for the collector.
FLUSH_SECONDS = 2.0


def start() -> Callable[[App], App]:
    """Begins to send the spans of this process. Returns what wraps an ASGI application in spans.
    The SDK starts its thread again in the processes that a worker forks."""
    named = OTELResourceDetector().detect().attributes
    resource = Resource.create({} if named.get(SERVICE_NAME) else {SERVICE_NAME: "wake"})
    # The SDK's own flush at exit waits too long, and does not run in the processes of Celery's pool
    # and of Granian.
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    spans = Spans(provider)
    spans.install()

    def flush(**_: Any) -> None:
        """Sends the spans that wait for the next batch. A thread does it, because the exporter
        waits longer for a collector that is away."""
        thread = threading.Thread(target=provider.shutdown, name="flush", daemon=True)
        thread.start()
        thread.join(FLUSH_SECONDS)

    for signal in (worker_process_shutdown, worker_shutdown):
        signal.connect(flush, weak=False)

    def traced(app: App) -> App:
        Finalize(None, flush, exitpriority=0)
        return spans.of_requests(app)

    return traced
