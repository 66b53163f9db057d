"""Runs the agents of the frameworks, each in a project with its framework and the tarball."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.client_js.projects import SOURCE, Project
from tests.fixtures import peers

PEERS = Path(__file__).parent / "peers"


@dataclass
class Agent:
    """Describes one run of an agent, with a folder, a store and a ledger of its own."""

    program: Path
    environment: dict[str, str]
    home: Path

    def run(self, verb: str, **environment: str) -> Any:
        """Runs the program to its end, and returns what the agent said, by thread. Returns None if
        the program was killed or has failed."""
        process = self.begin(verb, **environment)
        output, errors = process.communicate(timeout=120)
        self.errors = errors
        return json.loads(output.splitlines()[-1]) if process.returncode == 0 else None

    def begin(self, verb: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["node", "--no-warnings", str(self.program), verb],  # noqa: S607
            cwd=self.home,
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def refunds(self) -> list[str]:
        """Returns what the tool did, one line a call."""
        ledger = Path(self.environment["LEDGER"])
        return ledger.read_text().splitlines() if ledger.exists() else []


def installed(framework: str, project: Project, folder: Path) -> Path:
    """Returns a project with a framework, the client and the program of the framework."""
    packages = peers.environment(PEERS / framework) / "node_modules"
    modules = folder / "node_modules"
    modules.mkdir(parents=True)
    for package in packages.iterdir():
        if not package.name.startswith("."):
            (modules / package.name).symlink_to(package)
    shutil.copytree(project.folder / "node_modules" / "wake-client", modules / "wake-client")
    own = [path for path in (PEERS / framework).iterdir() if path.name != "package-lock.json"]
    for path in (*own, PEERS / "refunds.mjs", *(SOURCE / "examples").iterdir()):
        shutil.copy(path, folder)
    return folder
