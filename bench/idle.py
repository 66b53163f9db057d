"""Measures what a server with nothing to do takes: embedded, and with PostgreSQL and Redis."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.tools import processes, servers
from bench.tools.results import Row

REDIS = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
# The first jobs of all kinds run, and the pages that start a process are given back.
SETTLE_SECONDS = 30
MEGABYTE = 2**20
OURS = ("WAKE_", "DATABASE_URL", "REDIS_URL", "CELERY_", "DJANGO_", "PORT")
# Of a core, in percent, and in MB. The first pair is promised in docs/operations.md. With Redis,
# two processes and more do the work, and PostgreSQL's part counts as well.
EMBEDDED_CPU, EMBEDDED_MEMORY = 1.0, 300.0
PRODUCTION_CPU, PRODUCTION_MEMORY = 4.0, 800.0


@dataclass(frozen=True, slots=True)
class Idle:
    """Holds what the processes of one `manage.py up` took: CPU seconds for each second, and bytes.
    `parts` has the bytes of each child."""

    cpu: float
    memory: int
    parts: Mapping[str, int]

    @property
    def note(self) -> str:
        return ", ".join(f"{name} {size / MEGABYTE:.0f} MB" for name, size in self.parts.items())


def measure(*, seconds: float) -> list[Row]:
    """Measures both servers for this many seconds each."""
    with tempfile.TemporaryDirectory() as data:
        embedded = _measure({}, Path(data), seconds=seconds)
    servers.make_database("bench", deliveries=1_000)
    shared = {"DATABASE_URL": servers.DATABASE, "REDIS_URL": REDIS, "WAKE_DEV": "1"}
    production = _measure(shared, Path(servers.ENVIRONMENT["WAKE_DATA"]), seconds=seconds)
    return [
        *_rows("embedded", embedded, EMBEDDED_CPU, EMBEDDED_MEMORY),
        *_rows("with Redis", production, PRODUCTION_CPU, PRODUCTION_MEMORY),
    ]


def _rows(name: str, idle: Idle, cpu: float, memory: float) -> list[Row]:
    return [
        Row(f"idle {name}, CPU", idle.cpu * 100, cpu, unit=" %", note="of a core"),
        Row(f"idle {name}, memory", idle.memory / MEGABYTE, memory, unit=" MB", note=idle.note),
    ]


def _measure(settings: Mapping[str, str], data: Path, *, seconds: float) -> Idle:
    with _up(settings, data) as pid:
        time.sleep(SETTLE_SECONDS)
        before, began = _cpu(pid, settings), time.monotonic()
        time.sleep(seconds)
        cpu = (_cpu(pid, settings) - before) / (time.monotonic() - began)
        children = processes.children(pid)
        parts = {_role(child): processes.memory_of_tree(child) for child in children}
        return Idle(cpu, processes.memory_of_tree(pid), parts)


def _cpu(pid: int, settings: Mapping[str, str]) -> float:
    database = settings.get("DATABASE_URL")
    return processes.cpu_of_tree(pid) + (processes.cpu_of_database(database) if database else 0)


def _role(pid: int) -> str:
    command = Path(f"/proc/{pid}/cmdline").read_text()
    names = {"granian": "web", "sweeper": "worker", "worker": "worker", "beat": "beat"}
    return next(name for word, name in names.items() if word in command)


@contextmanager
def _up(settings: Mapping[str, str], data: Path) -> Iterator[int]:
    """Runs `manage.py up` with these settings alone; yields its process id."""
    port = servers.free_port()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    environment = {**inherited, **settings, "WAKE_DATA": str(data), "PORT": str(port)}
    command = [sys.executable, "manage.py", "up"]
    with (data / "log").open("wb") as log:
        up = subprocess.Popen(command, env=environment, stdout=log, stderr=log)  # noqa: S603 - our own
    try:
        servers.wait_for(port, seconds=300)  # it migrates an empty database first
        yield up.pid
    finally:
        up.send_signal(signal.SIGTERM)
        up.wait()
