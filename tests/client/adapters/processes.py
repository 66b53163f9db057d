"""Runs the steps of an agent, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.client.connector.relay import CLIENT
from tests.fixtures.agent_client import AgentClient

REFUND = {"order": "A-1042", "cents": 18_000}
OTHER = {"order": "B-7", "cents": 500}
KILLED = 9
AWAY = "http://127.0.0.1:9"  # nothing listens there


class Agent:
    """Starts `command` for each step. The folder has everything that the agent keeps, and its name
    is the id of the run."""

    def __init__(self, command: list[str], origin: str, caller: AgentClient, folder: Path) -> None:
        self.command, self.folder = command, folder
        folder.mkdir()
        self.environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{CLIENT}:{CLIENT.parent}",
            "WAKE_ENDPOINT": origin,
            "WAKE_API_KEY": caller.key.text,  # type: ignore[attr-defined]
            "WAKE_AGENT_ID": caller.agent_id,
            "FOLDER": str(folder),
        }
        self.calls = [REFUND]

    def run(self, *words: str, dies: str = "", **environment: str) -> list[dict[str, Any]]:
        """Returns what the process printed. A process that `dies` is killed at this point."""
        done = self._done(*words, DIES=dies, **environment)
        assert done.returncode == (KILLED if dies else 0), done.stderr
        # Some frameworks print for people, too.
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def fails(self, *words: str, **environment: str) -> str:
        """Runs a step that fails, and returns its stderr."""
        done = self._done(*words, **environment)
        assert done.returncode == 1, (done.stdout, done.stderr)
        return done.stderr

    def prints(self, *words: str) -> str:
        """Runs a program that prints text."""
        done = self._done(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def refunds(self) -> list[dict[str, Any]]:
        """Returns the arguments of each run of the tool."""
        file = self.folder / "refunds"
        lines = file.read_text().splitlines() if file.exists() else []
        return [json.loads(line) for line in lines]

    def _done(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        calls = [
            {"id": f"call-{number}", "arguments": arguments}
            for number, arguments in enumerate(self.calls, 1)
        ]
        return subprocess.run(
            [*self.command, *words],
            env={**self.environment, "CALLS": json.dumps(calls), **environment},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )


def told(lines: list[dict[str, Any]]) -> list[str]:
    """Returns what the model was told about its calls."""
    return [line["told"] for line in lines if "told" in line]
