"""Defines the figures that each process measures itself, and measures all but requests.

A process counts in a file of its own, and the process that is asked adds the files up
(wake/server/metrics/process_files.py)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry, Gauge, Histogram

from database.turns import turn_taken
from wake.api.stream_places import streams_changed
from wake.signals import callbacks_attempted

OWN = CollectorRegistry()
# The semantic conventions of OpenTelemetry for HTTP recommend these.
REQUEST_BUCKETS = (*(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10),)
TURN_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

KINDS_OF_STREAMS = ("a2a", "inbox")

request_seconds = Histogram(
    "http_server_request_duration_seconds",
    "Time from the arrival of a request until its answer is ready.",
    ["http_route", "http_request_method", "http_response_status_code"],
    buckets=REQUEST_BUCKETS,
    registry=OWN,
)
turn_wait_seconds = {
    "request": Histogram(
        "wake_request_turn_wait_seconds",
        "Time that requests waited for their turn. Requests that got it at once are left out.",
        buckets=TURN_BUCKETS,
        registry=OWN,
    ),
    "database": Histogram(
        "wake_database_turn_wait_seconds",
        "Time that threads waited for a connection to the database. Threads that got one at once"
        " are left out.",
        buckets=TURN_BUCKETS,
        registry=OWN,
    ),
}
attempt_seconds = Histogram(
    "wake_callback_attempt_duration_seconds",
    "Time that an attempt to send a callback took.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    registry=OWN,
)
streams = Gauge(
    "wake_streams",
    "Open streams, by kind.",
    ["kind"],
    multiprocess_mode="livesum",
    registry=OWN,
)


def measure() -> None:
    """Begins to measure in this process. Without this call, nothing is counted but requests."""
    for kind in KINDS_OF_STREAMS:
        streams.labels(kind)  # begins at 0
    turn_taken.connect(_turn_taken)
    callbacks_attempted.connect(_callbacks_attempted)
    streams_changed.connect(_streams_changed)


def _turn_taken(*, name: str, seconds: float, **_: Any) -> None:
    turn_wait_seconds[name].observe(seconds)


def _callbacks_attempted(*, durations: Iterable[float], **_: Any) -> None:
    for seconds in durations:
        attempt_seconds.observe(seconds)


def _streams_changed(*, kind: str, change: int, **_: Any) -> None:
    streams.labels(kind).inc(change)
