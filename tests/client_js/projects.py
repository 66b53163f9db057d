"""Runs programs of Node in the folder of a project."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "client-js"


@dataclass(frozen=True, slots=True)
class Project:
    """Describes a throw-away project. `workshop` has the tools, such as tsc."""

    folder: Path
    workshop: Path

    def tool(self, name: str) -> str:
        return str(self.workshop / "node_modules" / ".bin" / name)

    def command(self, program: str) -> list[str]:
        return ["node", "--disable-warning=ExperimentalWarning", program]

    def environment(self, **more: str) -> dict[str, str]:
        return {**os.environ, "NODE_OPTIONS": "", **more}


def run(command: list[str], folder: Path, *, given: str = "") -> str:
    """Returns the output of a command. Raises AssertionError with all of its output if the command
    fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout[-8000:]}"
    return done.stdout
