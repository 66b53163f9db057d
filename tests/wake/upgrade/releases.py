"""Runs processes of two versions of Wake on one database: of this checkout, and of the last
release, which has a folder and packages of its own."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tarfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.fixtures import peers
from tests.wake.server.up import PATIENCE_SECONDS, ROOT, call, clean_environment, free_port

# The last commit of 0.2.0, because this repository has no tags.
VERSION_0_2 = "fa9f8640974186341ddb0248fed39d07f950be58"


@dataclass(frozen=True)
class Release:
    home: Path
    python: str


THIS = Release(ROOT, sys.executable)


def version_0_2(folder: Path) -> Release:
    """Takes the release from the history into a new folder, and installs its packages. Skips the
    test if the history is not here, as in a shallow clone."""
    command = ["git", "archive", VERSION_0_2]
    archive = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"the history does not have version 0.2: {archive.stderr.decode().strip()}")
    home = folder / "wake-0.2"
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(home, filter="data")
    return Release(home, str(peers.environment(home) / "bin" / "python"))


@dataclass
class Process:
    """Runs `manage.py up ROLE` of a release. Its output is in a file."""

    release: Release
    role: str
    environment: dict[str, str]
    log: Path
    port: int = field(default_factory=free_port)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def output(self) -> str:
        return self.log.read_text()

    def start(self) -> Process:
        """Returns when a web server answers, or when a worker is ready."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [self.release.python, "manage.py", "up", self.role, "--processes", "1"],
                cwd=self.release.home,
                env={**self.environment, "PORT": str(self.port)},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        until = time.monotonic() + PATIENCE_SECONDS
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > until:
                pytest.fail(f"{self.role} did not start: {self.output[-3_000:]}")
            time.sleep(0.1)
        return self

    def _is_ready(self) -> bool:
        if self.role in {"web", "stream"}:
            return call(f"{self.origin}/healthz")[0] == 200
        return self.role == "beat" or " ready." in self.output

    def stop(self) -> None:
        """Lets the process finish its work, as a supervisor does."""
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@dataclass
class Site:
    """Holds what the processes share, and the processes by a name such as `old web`."""

    folder: Path
    variables: dict[str, str]
    processes: dict[str, Process] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return clean_environment(**self.variables)

    def start(self, name: str, release: Release, role: str) -> Process:
        log = self.folder / f"{name.replace(' ', '-')}.log"
        process = Process(release, role, self.environment, log)
        self.processes[name] = process
        return process.start()

    def manage(self, release: Release, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [release.python, "manage.py", *words],
            cwd=release.home,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )

    def end(self) -> None:
        for process in self.processes.values():
            process.end()
