"""Reads the CPU time and the memory of processes from /proc (Linux)."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import psycopg

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_of(pid: int) -> float:
    """Returns the CPU seconds of one process, or 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def cpu_of_tree(pid: int) -> float:
    """Returns the CPU seconds of a process and all its children, such as a server's."""
    return cpu_of(pid) + sum(cpu_of_tree(child) for child in children(pid))


def cpu_of_database(url: str) -> float:
    """Returns the CPU seconds of the backends that serve a database now."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchall()
    return sum(cpu_of(pid) for (pid,) in rows)


def memory_of_tree(pid: int) -> int:
    """Returns the bytes of a process and of all its children. Shared memory counts in part for each
    (PSS)."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    own = next(line.split()[1] for line in rollup.splitlines() if line.startswith("Pss:"))
    return int(own) * 1024 + sum(memory_of_tree(child) for child in children(pid))


def allow_open_files(number: int) -> None:
    """Raises the limit of open files for this process and the processes that it starts."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = number if hard == resource.RLIM_INFINITY else min(number, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def children(pid: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(c) for thread in threads for c in (thread / "children").read_text().split()]
    except FileNotFoundError:  # the process has ended
        return []
