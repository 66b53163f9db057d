"""Runs the server of Prefect and the flows of a program, and waits for them."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from tests.client.adapters.processes import Agent

PATIENCE_SECONDS = 120
RESTING = {"PAUSED", "COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
QUIET = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_RUNNER_POLL_FREQUENCY": "1",
    "DO_NOT_TRACK": "1",
}


class FlowAgent(Agent):
    """Prints what its flows print, too. A step is over when no flow runs any more."""

    def prints(self, *words: str) -> str:
        before = len(self.log.read_text())
        printed = super().prints(*words)
        self.rest()
        return printed + self.log.read_text()[before:]

    def resume_by_hand(self) -> str:
        """Resumes the flows as the button on the page of Prefect does."""
        before = len(self.log.read_text())
        for run in self.ask("flow_runs"):
            if run["state_type"] == "PAUSED":
                address = f"{self.environment['PREFECT_API_URL']}/flow_runs/{run['id']}/resume"
                assert httpx.post(address, json={}, timeout=60).is_success
        self.rest()
        return self.log.read_text()[before:]

    def rest(self) -> None:
        until(lambda: {run["state_type"] for run in self.ask("flow_runs")} <= RESTING)

    def ask(self, kind: str) -> list[dict[str, str]]:
        address = f"{self.environment['PREFECT_API_URL']}/{kind}/filter"
        rows: list[dict[str, str]] = httpx.post(address, json={}, timeout=60).json()
        return rows

    @property
    def log(self) -> Path:
        return self.folder / "serve.log"


@contextmanager
def running(agent: FlowAgent) -> Iterator[None]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    agent.environment |= {
        **QUIET,
        "PREFECT_HOME": str(agent.folder / "prefect"),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PYTHONUNBUFFERED": "1",
        # Prefect starts Python by its name.
        "PATH": f"{Path(agent.command[0]).parent}:{agent.environment['PATH']}",
    }
    server = [agent.command[0], "-m", "prefect", "server", "start", "--port", port]
    with started(agent, server, "server.log"):
        until(lambda: is_up(agent.environment["PREFECT_API_URL"]))
        with started(agent, [*agent.command, "serve"], "serve.log"):
            until(lambda: bool(agent.ask("deployments")))
            yield


@contextmanager
def started(agent: Agent, command: list[str], log: str) -> Iterator[None]:
    with (agent.folder / log).open("w") as file:
        process = subprocess.Popen(
            command, env=agent.environment, cwd=agent.folder, stdout=file, stderr=file
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def is_up(address: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{address}/health").is_success
    return False


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)
