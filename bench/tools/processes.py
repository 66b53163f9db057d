"""Reads the CPU time of processes from /proc (Linux)."""

from __future__ import annotations

import os
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
    """Returns the CPU seconds of a process and of all its children, for instance a server's."""
    return cpu_of(pid) + sum(cpu_of_tree(child) for child in _children(pid))


def cpu_of_database(url: str) -> float:
    """Returns the CPU seconds of the backends that serve a database now."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchall()
    return sum(cpu_of(pid) for (pid,) in rows)


def _children(pid: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(c) for thread in threads for c in (thread / "children").read_text().split()]
    except FileNotFoundError:  # it has ended
        return []
