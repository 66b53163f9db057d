"""Sentry gets the lines of the log at ERROR with their tracebacks, and no content."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import brotli  # type: ignore[import-untyped]
import pytest

from tests.wake.callbacks.receiver import Received, Receiver
from tests.wake.server.up import ROOT, clean_environment

pytestmark = pytest.mark.system

MARK = "saffroninthesafe"
# Logs an error whose message, arguments, local variables and cause have the mark.
PROGRAM = f"""
import logging, django
django.setup()
from wake.api import log_context
from wake.api.log_context import LogFacts
log_context.begin(LogFacts("request-1", key="wk_live_ab…yz", team=7))
log = logging.getLogger("wake.jobs")
log.warning("{MARK}")
def fail(content):
    try:
        int(content)
    except ValueError as first:
        raise RuntimeError("One thing led to another.") from first
try:
    fail("{MARK}")
except RuntimeError as error:
    log.exception("It failed: %s", error.__cause__, extra={{"request": "{MARK}"}})
log.error("The run %s waits", 7)
"""


def events_of(received: list[Received]) -> list[dict[str, Any]]:
    """Returns the events in the envelopes, oldest first."""
    assert {each.headers["Content-Encoding"] for each in received} == {"br"}
    bodies = [brotli.decompress(each.body) for each in received]
    lines = [json.loads(line) for body in bodies for line in body.splitlines()]
    return [line for line in lines if "event_id" in line and "platform" in line]


def run(**variables: str) -> str:
    environment = clean_environment(DJANGO_SETTINGS_MODULE="wake.settings", **variables)
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout + done.stderr


def test_an_error_is_sent_without_content(
    start_receiver: Callable[..., Receiver], tmp_path: Any
) -> None:
    sentry = start_receiver()
    dsn = f"http://public@127.0.0.1:{sentry.port}/7"

    run(SENTRY_DSN=dsn, SENTRY_ENVIRONMENT="test", WAKE_DATA=str(tmp_path))

    failed, waits = events_of(sentry.received)
    assert failed["logentry"] == {"message": "It failed: ValueError"}
    assert failed["tags"] == {"request_id": "request-1", "key": "wk_live_ab…yz", "team": "7"}
    assert failed["environment"] == "test"
    cause, error = failed["exception"]["values"]
    assert (cause["type"], cause["value"]) == ("ValueError", "")
    assert (error["type"], error["value"]) == ("RuntimeError", "One thing led to another.")
    assert "fail" in {frame["function"] for frame in error["stacktrace"]["frames"]}
    assert waits["logentry"]["message"] == "The run 7 waits"
    assert not {"request", "user", "extra", "breadcrumbs", "modules"} & failed.keys()
    assert MARK not in json.dumps([failed, waits])
    assert {each.path for each in sentry.received} == {"/api/7/envelope/"}


def test_nothing_is_loaded_without_a_dsn(tmp_path: Any) -> None:
    environment = clean_environment(DJANGO_SETTINGS_MODULE="wake.settings", WAKE_DATA=str(tmp_path))
    code = (
        "import django, sys; django.setup(); "
        "print({'sentry_sdk', 'wake.server.telemetry.spans'} & sys.modules.keys())"
    )
    command = [sys.executable, "-c", code]

    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    assert done.stdout == "set()\n", done.stderr
