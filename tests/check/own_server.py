"""Runs this project's server as `make run` does, and lets the kit judge it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.fixtures.migrated import migrated_folder
from tests.fixtures.served import served
from tests.spec.http.test_production import PRODUCTION
from tests.wake.server.up import ROOT, Up, free_port, printed, up_in

OWNER = {"WAKE_ADMIN_EMAIL": "ann@example.com", "WAKE_ADMIN_PASSWORD": "correct horse battery"}
AGENT, OTHER_AGENT = "my-first-agent", "my-second-agent"
# The check of the largest page needs more than 200 deliveries, and one key delivers 50 at once.
BATCHES, BATCH = 5, 41


@contextmanager
def judgeable(
    data: Path, *arguments: str, **environment: str
) -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """Yields the address of a running server, and the options and the environment of the kit. The
    server gets these arguments and this environment."""
    port = free_port()
    with ExitStack() as running:
        migrated_folder(data)
        plain_http = running.enter_context(served("wsgi", **PRODUCTION))
        up = running.enter_context(up_in(data, **OWNER, **environment))
        greeting = up.start(*arguments).once_greeted()
        running.callback(up.send, signal.SIGTERM)
        _manage(up, "allow_callback", f"127.0.0.1:{port}")
        for _ in range(BATCHES):
            _deliver_a_batch(up, _key(up, AGENT))
        variables = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "check"),
            "WAKE_AGENT_ID": AGENT,
            "WAKE_API_KEY": printed("Key", greeting),
            "WAKE_WEBHOOK_SECRET": printed("Signing secret", greeting),
            "WAKE_CHECK_OTHER_KEY": _key(up, OTHER_AGENT),
            "WAKE_CHECK_TEST_KEY": _key(up, AGENT, "--test"),
            "WAKE_CHECK_EMAIL": OWNER["WAKE_ADMIN_EMAIL"],
            "WAKE_CHECK_PASSWORD": OWNER["WAKE_ADMIN_PASSWORD"],
        }
        options = ["--driver", "wake", "--other-agent", OTHER_AGENT, "--callback-port", str(port)]
        yield up.url, [*options, "--plain-http", plain_http], variables


def run_kit(
    url: str, options: list[str], variables: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "wake_check", url, *options]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


def _key(up: Up, agent: str, *options: str) -> str:
    return str(json.loads(_manage(up, "issue_key", agent, "--json", *options))["key"])


def _manage(up: Up, *words: str) -> str:
    command = [sys.executable, "manage.py", *words]
    done = subprocess.run(
        command, cwd=ROOT, env=up.environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def _deliver_a_batch(up: Up, key: str) -> None:
    delivery: dict[str, Any] = {
        **{"agent_id": AGENT, "provider": "tests", "type": "update"},
        **{"headline": "One of many", "summary": "Fills the first pages."},
    }
    answer = httpx.post(
        f"{up.url}/wake/v1/deliveries",
        headers={"Authorization": f"Bearer {key}"},
        json={"deliveries": [delivery] * BATCH},
        timeout=60,
    )
    codes = {result["status_code"] for result in answer.json()["results"]}
    assert codes == {201}
