"""Runs pyright, the type checker of many editors."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.client.connector.relay import CLIENT
from tests.fixtures import peers

PEER = Path(__file__).parent / "peers" / "pyright"


def problems(files: Iterable[Path], *, python: str) -> str:
    """Returns what pyright reports about files of the client, with the packages of this Python.
    Returns an empty text if there is no error."""
    names = [str(path.relative_to(CLIENT)) for path in files]
    done = subprocess.run(
        [*peers.command(PEER), "--pythonpath", python, *names],
        cwd=CLIENT,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr
