"""Starts a server with a public agent, and runs the commands that manage the two."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.wake.server.up import ROOT, Up, clean_environment, eventually

AGENT = Path(__file__).with_name("agent.py")


@dataclass
class Relay:
    """Runs one server and its public agent."""

    up: Up
    handle: str
    agent: str
    caller_key: str

    @property
    def url(self) -> str:
        """Returns the URL of the agent."""
        return f"{self.up.url}/@{self.handle}/{self.agent}"


def manage(up: Up, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=up.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout.strip()


@contextmanager
def connected(up: Up, key: str, journal: Path) -> Iterator[None]:
    """Starts `wake connect` with the shell command of the agent."""
    printed = journal.with_suffix(".log")
    with printed.open("wb") as log:
        connector = subprocess.Popen(
            [
                *(sys.executable, "-m", "wake_client", "connect", "--url", up.url),
                *("--journal", str(journal), "--", sys.executable, str(AGENT)),
            ],
            env={**clean_environment(WAKE_API_KEY=key), "PYTHONPATH": str(ROOT / "client")},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            eventually(lambda: "connected as" in printed.read_text())
            yield
        finally:
            os.killpg(connector.pid, signal.SIGKILL)
            connector.wait()
