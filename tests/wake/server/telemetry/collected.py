"""Reads the spans that a collector received over OTLP."""

from __future__ import annotations

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.wake.callbacks.receiver import Receiver


def received_by(collector: Receiver) -> list[ExportTraceServiceRequest]:
    return [
        ExportTraceServiceRequest.FromString(each.body)
        for each in collector.received
        if each.path == "/v1/traces"
    ]


def names_of(collector: Receiver) -> dict[str, str]:
    """Returns the ids of traces by the names of their spans."""
    return {
        span.name: span.trace_id.hex()
        for batch in received_by(collector)
        for resource in batch.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    }
