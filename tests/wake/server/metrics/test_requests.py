"""Requests are measured by the pattern of their path."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as django_settings

from tests.fixtures.strict_client import Client
from wake.api.long_poll import ARRIVED
from wake.server.metrics.instruments import request_seconds

MIDDLEWARE = "wake.server.metrics.requests.RequestDurations"


@pytest.fixture
def measured(settings: Any) -> Client:
    settings.MIDDLEWARE = [MIDDLEWARE, *django_settings.MIDDLEWARE]
    return Client()


@pytest.fixture
def counted() -> Callable[[], dict[tuple[str, ...], float]]:
    """Returns how many requests were measured since, by route, method and status."""

    def read() -> dict[tuple[str, ...], float]:
        names = ("http_route", "http_request_method", "http_response_status_code")
        return {
            tuple(sample.labels[name] for name in names): sample.value
            for metric in request_seconds.collect()
            for sample in metric.samples
            if sample.name.endswith("_count")
        }

    before = read()
    return lambda: {
        labels: number - before.get(labels, 0)
        for labels, number in read().items()
        if number != before.get(labels, 0)
    }


Counted = Callable[[], dict[tuple[str, ...], float]]


@pytest.mark.django_db
def test_a_request_counts_for_the_pattern_of_its_path(measured: Client, counted: Counted) -> None:
    for _ in range(3):
        measured.get(f"/wake/v1/response/{secrets.token_hex(16)}", secure=True)
    measured.get("/login/")

    assert counted() == {
        ("/wake/v1/response/<str:delivery_id>", "GET", "401"): 3,
        ("/login/", "GET", "200"): 1,
    }


@pytest.mark.django_db
def test_strangers_cannot_add_series(measured: Client, counted: Counted) -> None:
    for _ in range(5):
        measured.get(f"/{secrets.token_hex(8)}")
        measured.get(f"/static/{secrets.token_hex(8)}")
        measured.get("/healthz", REQUEST_METHOD=secrets.token_hex(4).upper())

    numbers = counted()
    assert numbers["unknown", "GET", "404"] == numbers["/static/", "GET", "404"] == 5
    assert numbers["/healthz", "_OTHER", "405"] == 5
    assert len(numbers) <= 6  # with the requests that the client makes first, as browsers do


def test_the_wait_for_a_thread_counts(measured: Client) -> None:
    def total() -> float:
        return float(request_seconds.labels("/healthz", "GET", "200")._sum.get())

    before = total()

    measured.get("/healthz", **{ARRIVED: time.monotonic() - 5})  # type: ignore[arg-type]

    assert 5 <= total() - before < 60
