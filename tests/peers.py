"""Installs each SDK that a test needs as a peer into an environment of its own, because two
generations do not fit into one.

A peer that cannot be installed is a skipped test with the reason, and in CI a failure.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import NoReturn

import pytest

INSTALLED = Path(sys.prefix) / "peers"
# Left by an installation that came to its end.
DONE = ".installed"


def command(source: Path, script: str = "caller") -> list[str]:
    """Returns the command of one of the scripts in a peer's folder, and installs the peer first if
    needed."""
    peer = f"{source.parent.parent.name}-{source.name}"
    if (source / "package.json").exists():
        lock, install = source / "package-lock.json", _install_javascript
    else:
        lock, install = source / "requirements.lock", _install_python
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    folder = INSTALLED / f"{peer}-{digest}"
    INSTALLED.mkdir(exist_ok=True)
    with (INSTALLED / f"{peer}.lock").open("w") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        if not (folder / DONE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            install(lock, folder)
            (folder / DONE).touch()
    if install is _install_python:
        return [str(folder / "bin" / "python"), str(source / f"{script}.py")]
    # Node looks for packages beside the script.
    shutil.copy(source / f"{script}.mjs", folder)
    return ["node", str(folder / f"{script}.mjs")]


def _install_python(lock: Path, folder: Path) -> None:
    """uv takes a tenth of the time that pip takes, and starts without being copied there first."""
    python = folder / "bin" / "python"
    venv.create(folder, with_pip=False)
    uv = [sys.executable, "-m", "uv", "--quiet", "pip", "install", "--python", str(python)]
    _run([*uv, "--require-hashes", "--requirement", str(lock)], folder)


def _install_javascript(lock: Path, folder: Path) -> None:
    if not shutil.which("npm"):
        _give_up("There is no npm to install the SDK for JavaScript with.")
    shutil.copy(lock, folder)
    shutil.copy(lock.with_name("package.json"), folder)
    _run(["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"], folder)


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        _give_up(f"The peer {folder.name} cannot be installed: {done.stdout[-500:]}")


def _give_up(reason: str) -> NoReturn:
    if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
        pytest.fail(reason)
    pytest.skip(reason)
