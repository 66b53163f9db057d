"""A server as people run it, with an agent behind `wake connect` that anybody may call."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conformance.caller import Caller
from tests.frame.conftest import ROOT, Up, clean_environment, eventually
from tests.outgoing.conftest import Receiver

AGENT = Path(__file__).with_name("agent.py")


@dataclass
class Relay:
    """One server and its public agent."""

    up: Up
    handle: str
    agent: str
    caller_key: str

    @property
    def url(self) -> str:
        """Where the agent is called."""
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
    """The agent's machine: `wake connect` with the shell command."""
    told = journal.with_suffix(".log")
    with told.open("wb") as log:
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
            eventually(lambda: "connected as" in told.read_text())
            yield
        finally:
            os.killpg(connector.pid, signal.SIGKILL)
            connector.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def relay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    folder = tmp_path_factory.mktemp("relay")
    port = free_port()
    data = folder / "data"
    up = Up(data, port, clean_environment(WAKE_DATA=str(data), PORT=str(port)))
    try:
        up.start().once_greeted()
        public = ("--public", "--reply-policy", "any", "--input-mode", "text/plain", "--root")
        manage(up, "publish_agent", "tck", *public)
        key = manage(up, "issue_key", "tck")
        caller = manage(up, "issue_caller_key", "peers")
        with connected(up, key, folder / "journal"):
            yield Relay(up, "home", "tck", caller)
    finally:
        up.kill_everything()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.stop()


@pytest.fixture
def caller(relay: Relay) -> Caller:
    return Caller(relay.url, "1.0")


@pytest.fixture
def older(relay: Relay) -> Caller:
    return Caller(relay.url, "0.3")
