"""Measures how many callbacks a second one worker sends from a full queue.

The worker, PostgreSQL and the receivers are separate processes. Unlike the ratios of the other
rows, a rate depends on the machine, so the worker's CPU time is shown beside it. The cases take
turns and the median counts, so that one slow moment of the machine decides nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import NamedTuple

from bench.tools import servers
from bench.tools.results import Row


class Case(NamedTuple):
    """Describes receivers that answer after `seconds`, and how many callbacks a second they get."""

    name: str
    seconds: float
    hosts: int
    at_least: float


CASES = [
    Case("callbacks, a fast receiver", 0.0, 1, 2_000),
    Case("callbacks, ten fast receivers", 0.0, 10, 2_000),
    Case("callbacks, 100 ms receivers", 0.1, 10, 400),
]


class Drained(NamedTuple):
    """Holds how long the worker took to send all callbacks, and its CPU time."""

    seconds: float
    cpu: float


def measure(*, callbacks: int, turns: int) -> list[Row]:
    servers.make_database("bench", deliveries=0)
    drained = [[_drained(case, callbacks) for case in CASES] for _ in range(turns)]
    return [
        _row(case, callbacks, its_turns)
        for case, its_turns in zip(CASES, zip(*drained, strict=True), strict=True)
    ]


def _row(case: Case, callbacks: int, turns: Sequence[Drained]) -> Row:
    cpu = median(turn.cpu for turn in turns) / callbacks
    return Row(
        case.name,
        callbacks / median(turn.seconds for turn in turns),
        case.at_least,
        unit="/s",
        at_least=True,
        note=f"{cpu * 1e6:.0f} us of the worker's CPU each",
    )


def _drained(case: Case, callbacks: int) -> Drained:
    with _receivers(case) as ports:
        command = [
            sys.executable,
            "-m",
            "bench.scenes.full_outbox",
            str(callbacks),
            *map(str, ports),
        ]
        done = subprocess.run(  # noqa: S603 - our own worker
            command, env=servers.ENVIRONMENT, check=True, stdout=subprocess.PIPE, text=True
        )
    return Drained(**json.loads(done.stdout))


@contextmanager
def _receivers(case: Case) -> Iterator[list[str]]:
    """Starts one process that listens on a port for each host; yields the ports."""
    command = [sys.executable, "-m", "bench.tools.receiver", str(case.seconds), str(case.hosts)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own
    assert process.stdout  # noqa: S101 - for the type checker
    try:
        yield process.stdout.readline().split()
    finally:
        process.terminate()
        process.wait()
