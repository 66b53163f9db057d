"""Begins to report traces and errors, if the operator asked for it and the packages are there."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec

from django.conf import settings

from wake.server.http.body_limit import App

log = logging.getLogger(__name__)

MISSING = "%s is set, but nothing is reported, because the extra `%s` is not installed"
ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_wrappers: list[Callable[[App], App]] = []


def start(environment: Mapping[str, str] = os.environ) -> None:
    """Reads the variables of both SDKs. Each process calls this once, when Django is ready."""
    if settings.SENTRY_DSN:
        if find_spec("sentry_sdk") is None:
            log.warning(MISSING, "SENTRY_DSN", "sentry")
        else:
            import_module("wake.server.telemetry.sentry").start(settings.SENTRY_DSN)
    if wants_traces(environment):
        if find_spec("opentelemetry.exporter.otlp.proto.http") is None:
            log.warning(MISSING, "OTEL_EXPORTER_OTLP_ENDPOINT", "otel")
        else:
            _wrappers.append(import_module("wake.server.telemetry.otlp").start())


def traced(app: App) -> App:
    """Wraps the ASGI application in spans if this process records them, and returns it unchanged
    otherwise."""
    for wrap in _wrappers:
        app = wrap(app)
    return app


def wants_traces(environment: Mapping[str, str]) -> bool:
    """Returns whether there is an endpoint for traces, and traces are not turned off."""
    is_off = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    exporter = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower() or "otlp"
    has_endpoint = any(environment.get(name, "").strip() for name in ENDPOINTS)
    return has_endpoint and not is_off and exporter == "otlp"
