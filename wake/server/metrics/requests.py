"""Measures how long requests take, by route."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from prometheus_client import Histogram

from wake.api.long_poll import arrived_at
from wake.server.http import documentation
from wake.server.metrics.instruments import request_seconds

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
OTHER_METHOD = "_OTHER"  # OpenTelemetry's name for it
FILES = (settings.STATIC_URL, documentation.PREFIX)
UNKNOWN = "unknown"


class RequestDurations:
    """Measures a request from its arrival until its answer is ready, so the time in which it waited
    for a thread counts. The answer of a stream is ready when the stream begins."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        # Looking a histogram up by its labels takes as long as counting.
        self.durations: dict[tuple[str, str | None, int], Histogram] = {}

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        match = request.resolver_match
        key = ("" if match is None else match.route, request.method, response.status_code)
        durations = self.durations.get(key) or self._look_up(request, key)
        durations.observe(time.monotonic() - arrived_at(request))
        return response

    def _look_up(self, request: HttpRequest, key: tuple[str, str | None, int]) -> Histogram:
        """Remembers the histogram, unless the client has made the key up."""
        _, method, status = key
        is_known = request.resolver_match is not None and method in METHODS
        durations = request_seconds.labels(
            _route(request), method if method in METHODS else OTHER_METHOD, str(status)
        )
        if is_known:
            self.durations[key] = durations
        return durations


def _route(request: HttpRequest) -> str:
    """Returns the pattern of the path, never the path itself, because anyone can ask for any number
    of paths."""
    if request.resolver_match is not None:
        return f"/{request.resolver_match.route}"
    return next((prefix for prefix in FILES if request.path_info.startswith(prefix)), UNKNOWN)
