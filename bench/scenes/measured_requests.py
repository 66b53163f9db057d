"""Prints the CPU seconds that measuring adds to a request (bench/metrics.py): `python -m
bench.scenes.measured_requests`.

Two copies of Django's handler answer /healthz in turn, and only one has the middleware of the
metrics."""

# ruff: noqa: E402 - the handlers are imported when Django is set up

from __future__ import annotations

import statistics
import time
from io import BytesIO
from typing import Any

import django

django.setup()

from django.core.handlers.wsgi import WSGIHandler
from django.test.utils import override_settings

from wake.api.long_poll import ARRIVED

REQUESTS, ROUNDS = 2_000, 15
MEASURING = "wake.server.metrics.requests.RequestDurations"


def main() -> None:
    measuring = WSGIHandler()
    middleware = list(django.conf.settings.MIDDLEWARE)
    middleware.remove(MEASURING)
    with override_settings(MIDDLEWARE=middleware):
        usual = WSGIHandler()
    added = [_seconds(measuring) - _seconds(usual) for _ in range(ROUNDS)]
    print(statistics.median(added))  # noqa: T201 - for the bench


def _seconds(handler: WSGIHandler) -> float:
    began = time.process_time()
    for _ in range(REQUESTS):
        handler(_environ(), lambda *_: None)
    return (time.process_time() - began) / REQUESTS


def _environ() -> dict[str, Any]:
    return {
        **{"REQUEST_METHOD": "GET", "PATH_INFO": "/healthz", "SERVER_NAME": "127.0.0.1"},
        **{"SERVER_PORT": "80", "wsgi.input": BytesIO(), "wsgi.url_scheme": "http"},
        ARRIVED: time.monotonic(),
    }


if __name__ == "__main__":
    main()
