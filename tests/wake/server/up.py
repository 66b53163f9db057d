"""Starts the server as people run it: `manage.py up` in a process and a data folder of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent.parent

# This is generous, because a busy machine needs ten seconds to import Django.
PATIENCE_SECONDS = 180  # a first start migrates, and `make coverage` measures that


def clean_environment(**given: str) -> dict[str, str]:
    """Returns this process's environment, without what would change how the server runs."""
    ours = ("WAKE_", "DATABASE_URL", "REDIS_URL", "CELERY_", "DJANGO_", "PORT", "PYTEST_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**inherited, **given}


def eventually(what: Callable[[], Any], *, within: float = PATIENCE_SECONDS) -> Any:
    """Returns the first true answer; fails after `within` seconds."""
    until = time.monotonic() + within
    while not (result := what()):
        if time.monotonic() > until:
            pytest.fail(f"Not within {within} s: {what}")
        time.sleep(0.05)
    return result


@dataclass
class Up:
    """Holds `manage.py up`, what it printed, and every process that belongs to it."""

    data: Path
    port: int
    environment: dict[str, str]
    process: subprocess.Popen[bytes] | None = None
    logs: list[Path] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def output(self) -> str:
        return self.logs[-1].read_text()

    def start(self, *arguments: str) -> Up:
        self.logs.append(self.data.with_name(f"{self.data.name}-{len(self.logs)}.log"))
        with self.logs[-1].open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", *arguments],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    def once_greeted(self) -> str:
        assert self.process is not None
        until = time.monotonic() + PATIENCE_SECONDS
        while "Ctrl-C stops everything." not in self.output:
            if self.process.poll() is not None or time.monotonic() > until:
                pytest.fail(self.output)
            time.sleep(0.05)
        return self.output

    def send(self, number: int) -> float:
        """Sends a signal and returns the seconds until the server ended."""
        assert self.process is not None
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(PATIENCE_SECONDS)
        return time.monotonic() - began

    def pids(self, command: str = "") -> list[int]:
        """Returns the processes that have this data folder in their environment."""
        result = []
        mark = f"WAKE_DATA={self.data}".encode()
        for proc in Path("/proc").glob("[0-9]*"):
            try:
                is_ours = mark in (proc / "environ").read_bytes().split(b"\0")
                line = (proc / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if is_ours and line and command in line:
                result.append(int(proc.name))
        return sorted(result)

    def kill_everything(self) -> None:
        while pids := self.pids():
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            if self.process is not None:
                self.process.poll()
        if self.process is not None:
            self.process.wait(PATIENCE_SECONDS)

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        return call(f"{self.url}{path}", headers=headers)

    def readiness(self) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(self.get("/readyz")[1] or b"{}")
        return result


def call(url: str, body: bytes | None = None, **given: Any) -> tuple[int, bytes]:
    """Returns status and body, or (0, b"") when the port is closed."""
    try:
        request = urllib.request.Request(url, data=body, **given)  # noqa: S310 - our own server
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:  # noqa: S310
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
    except OSError:
        return 0, b""


def printed(name: str, output: str) -> str:
    """Returns the text of the greeting after this word."""
    result = re.search(rf"^  {name} +(\S+)$", output, re.MULTILINE)
    assert result, output
    return result[1]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def up_in(data: Path, **environment: str) -> Iterator[Up]:
    """Yields a server that is not started yet, and ends all its processes afterwards."""
    port = free_port()
    ours = clean_environment(WAKE_DATA=str(data), PORT=str(port), **environment)
    server = Up(data, port, ours)
    try:
        yield server
    finally:
        server.kill_everything()
