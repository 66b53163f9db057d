"""Sends spans over OTLP. OpenTelemetry's SDK reads its own variables, such as
OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_RESOURCE_ATTRIBUTES and OTEL_TRACES_SAMPLER."""

from __future__ import annotations

from collections.abc import Callable

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from wake.server.http.body_limit import App
from wake.server.telemetry.spans import Spans


def start() -> Callable[[App], App]:
    """Begins to send the spans of this process. Returns what wraps an ASGI application in spans.
    The SDK starts its thread again in the processes that a worker forks."""
    named = OTELResourceDetector().detect().attributes
    resource = Resource.create({} if named.get(SERVICE_NAME) else {SERVICE_NAME: "wake"})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    spans = Spans(provider)
    spans.install()
    return spans.of_requests
