"""Runs actions in processes of their own that start at the same moment, as web servers and workers
do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from django.db import connection

HOUSE = Path(__file__).parents[3]
SERVE = (
    "import django; django.setup(); from tests.stress.concurrency import actions; actions.serve()"
)
# The actions start after this time, in which each process reads its line.
AHEAD_SECONDS = 0.005

Order = tuple[str, dict[str, Any]]


class Processes:
    """Keeps processes that share the test's database. A test has to call `end` for these
    processes."""

    def __init__(self, number: int) -> None:
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.fixtures.served_settings",
            "WAKE_TEST_DATABASE": str(connection.settings_dict["NAME"]),
            "REDIS_URL": "",
        }
        self.running = [
            subprocess.Popen(
                [sys.executable, "-c", SERVE],
                cwd=HOUSE,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(number)
        ]
        for each in self.running:
            assert _read(each) == "ready"

    def at_once(self, *orders: Order) -> list[Any]:
        """Gives each process one action with its arguments. Returns the results in order, and fails
        if an action failed."""
        assert len(orders) <= len(self.running)
        at = time.monotonic() + AHEAD_SECONDS
        for process, (action, arguments) in zip(self.running, orders, strict=False):
            assert process.stdin
            line = json.dumps({"action": action, "arguments": arguments, "at": at})
            process.stdin.write(line + "\n")
            process.stdin.flush()
        said = [_read(process) for process in self.running[: len(orders)]]
        assert [each["failure"] for each in said if "failure" in each] == []
        return [each["outcome"] for each in said]

    def end(self) -> None:
        for each in self.running:
            each.kill()
            each.communicate()


def _read(process: subprocess.Popen[str]) -> Any:
    assert process.stdout
    return json.loads(process.stdout.readline())
