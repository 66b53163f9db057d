"""Ends the commands that a killed connector left running, before their runs start again.

The folder of a run has a locked file, and the run's command inherits the lock. While the lock is
held, at least one of the command's processes is alive. A pid alone would not show this, because the
pid could now belong to another process.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

logger = logging.getLogger(__name__)

PREFIX = "wake-"
LOCK = "lock"
# The time that processes get to end after SIGTERM, and again after SIGKILL.
SECONDS_TO_STOP = 10.0
PAUSE_SECONDS = 0.05


def new_folder(parent: Path | None) -> tempfile.TemporaryDirectory[str]:
    """Makes the folder of one run. If that fails in `parent`, as on a full disk, makes the folder
    in the system's directory for temporary files, so that the run can start."""
    with suppress(OSError):
        return tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent)
    return tempfile.TemporaryDirectory(prefix=PREFIX)


@contextmanager
def locked_file(folder: str) -> Iterator[int]:
    """Opens the file for a command to inherit, and yields its descriptor."""
    descriptor = os.open(Path(folder, LOCK), os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def write_pid(descriptor: int, pid: int) -> None:
    """Writes the command's pid into its locked file."""
    with suppress(OSError):  # the command is started even on a full disk
        os.write(descriptor, b"%d" % pid)


async def end_all(parent: Path) -> None:
    """Ends every command that still holds its lock, and deletes the folders of all runs."""
    folders = list(parent.glob(f"{PREFIX}*"))
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in filter(None, map(_pid_of, folders)):
            logger.info("stopping process %s, which outlived the last connector", pid)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, number)
        with suppress(TimeoutError):
            async with asyncio.timeout(SECONDS_TO_STOP):
                while any(map(_pid_of, folders)):
                    await asyncio.sleep(PAUSE_SECONDS)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _pid_of(folder: Path) -> int | None:
    """Returns the pid of the folder's command while any process of its group is alive."""
    with suppress(OSError, ValueError), Path(folder, LOCK).open(encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = int(file.read())  # the file is empty if the connector was killed earlier
            os.killpg(pid, 0)
            return pid
    return None
