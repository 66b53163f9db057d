"""Keeps the figures of all processes of one `manage.py up` in a folder, with files of each process.

The library adds the files up. The files are memory that processes share, so they are on a disk in
memory where there is one: on a full disk, the kernel would kill a process that writes to one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prometheus_client import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # the library reads it when it is imported
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - the folder in it is made for us alone
PREFIX = "wake-metrics-"
LOCK = "in-use"
GAUGES = "gauge_"
ENDED = "ended"  # stands for the id of a process in the names of the files of all that have ended


def make_folder(parent: Path | None = None) -> Path:
    """Creates the folder for this process and its children, by default in memory. Removes the
    folders of the same account that no process uses any more."""
    if parent is None:
        parent = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else Path(tempfile.gettempdir())
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.stat().st_uid == os.getuid():
                os.close(_mark_used(folder))
                shutil.rmtree(folder)
    made = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    # Stays open in the program that takes the place of this one, until its process ends.
    os.set_inheritable(_mark_used(made), True)  # noqa: FBT003 - it takes no keyword
    return made


def _mark_used(folder: Path) -> int:
    """Locks a file in the folder, and returns its descriptor. The kernel frees the lock when the
    last process that holds it has ended. Ids of processes would say less: containers of a pod share
    the disk, and each has a process 1. Raises BlockingIOError if the folder is in use."""
    descriptor = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    return descriptor


class ProcessFiles:
    """Collects the figures of all processes. A process that has ended no longer counts in gauges,
    but still in counters, which must never fall."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def collect(self) -> Iterable[Metric]:
        with self._locked():
            for file in self.folder.glob("*.db"):
                self._take_over(file)
            return list(MultiProcessCollector(None, str(self.folder)).collect())

    def _take_over(self, file: Path) -> None:
        """Moves the figures of a process that has ended to the file of all such processes."""
        kind, _, process = file.stem.rpartition("_")
        if process == ENDED or not _is_gone(int(process)):
            return
        if not file.name.startswith(GAUGES):
            total = MmapedDict(str(file.with_stem(f"{kind}_{ENDED}")))
            for key, value, *_ in MmapedDict.read_all_values_from_file(str(file)):
                total.write_value(key, total.read_value(key)[0] + value, 0.0)
            total.close()
        file.unlink()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keeps other processes from adding up while files move."""
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # another account's
        return False
    return False
