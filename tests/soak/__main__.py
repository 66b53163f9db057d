"""`make soak` runs what takes too long for `make test`, and prints the figures of
docs/reliability.md.

An hour of load is scaled down to SOAK_SECONDS (default 300). The scenarios start their own
PostgreSQL and Redis. Only the drill and the fuzzing do not: they use the PostgreSQL that
DATABASE_URL names, or else one at 127.0.0.1:5432. The fuzzing also runs on SQLite. If scenarios are
named as arguments, only these scenarios are run.
"""

from __future__ import annotations

import itertools
import logging
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"

import django

django.setup()
# The library httpx would log a line for each of many thousand requests.
logging.getLogger("httpx").setLevel(logging.WARNING)

from tests.soak import (  # noqa: E402 - they import models
    drain,
    drill,
    in_turn,
    kills,
    load,
    pooled,
)

HOSTILE = "tests/stress/hostile"
# These are the numbers of examples of each test: six tests make 5,100 requests from the OpenAPI,
# and five make 10,000 bodies for MCP.
FUZZING = {f"{HOSTILE}/test_openapi.py": "850", f"{HOSTILE}/test_mcp.py": "2000"}
DATABASES = ("", os.environ.get("DATABASE_URL") or "postgresql://postgres@127.0.0.1:5432/test")


def fuzz(folder: Path) -> list[str]:
    """Runs the tests on both databases, each time with new examples."""
    told = []
    for (path, examples), url in itertools.product(FUZZING.items(), DATABASES):
        command = [sys.executable, "-m", "pytest", "-q", path]
        environment = {**os.environ, "HOSTILE_EXAMPLES": examples, "DATABASE_URL": url}
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, text=True, check=False
        )
        if done.returncode:
            raise AssertionError(done.stdout)
        database = "PostgreSQL" if url else "SQLite"
        told.append(f"{Path(path).stem}, {database}: {done.stdout.splitlines()[-1]}")
    return told


SCENARIOS: dict[str, Callable[[Path], list[str]]] = {
    "load": load.run,
    "pooled": pooled.run,
    "in_turn": in_turn.run,
    "kills": kills.run,
    "drain": drain.run,
    "drill": drill.run,
    "fuzz": fuzz,
}


def main(names: list[str]) -> None:
    say(f"{os.cpu_count()} cores, {platform.platform()}, Python {platform.python_version()}")
    say(f"Load average at the start: {os.getloadavg()[0]:.1f}")
    for name in names or SCENARIOS:
        began = time.monotonic()
        say("", f"{name}:")
        with tempfile.TemporaryDirectory(prefix="wake-soak-") as folder:
            for line in SCENARIOS[name](Path(folder)):
                say(f"  {line}")
        say(f"  took {time.monotonic() - began:.0f} s")


def say(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)  # noqa: T201 - a script


if __name__ == "__main__":
    main(sys.argv[1:])
