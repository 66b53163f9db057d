"""The figures of several processes are added up, also of those that have ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.wake.server.up import ROOT
from wake.server.metrics import process_files
from wake.server.metrics.process_files import ProcessFiles

COUNTING = """
import sys
from prometheus_client import Gauge, Histogram
Histogram("seconds", "Seconds.", ["route"]).labels("/").observe(float(sys.argv[1]))
Gauge("streams", "Streams.", ["kind"], multiprocess_mode="livesum").labels("a2a").inc()
print("counted", flush=True)
sys.stdin.read()
"""
IMPORT = "import os; from wake.server.metrics.process_files import *"
BECOME_ANOTHER = "os.execv('/bin/sh', ['sh', '-c', 'read line'])"  # as `manage.py up` does


class Counting:
    """Runs a process that counts one request and one stream, until it is told to end."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", COUNTING, str(seconds)],
            cwd=ROOT,
            env={**os.environ, process_files.VARIABLE: str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"counted\n"

    def end(self) -> None:
        self.process.communicate()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[float], Counting]]:
    started: list[Counting] = []

    def start(seconds: float) -> Counting:
        started.append(Counting(tmp_path, seconds))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.communicate()


def values(folder: Path) -> dict[str, float]:
    samples = [sample for metric in ProcessFiles(folder).collect() for sample in metric.samples]
    return {sample.name: sample.value for sample in samples if not sample.name.endswith("_bucket")}


def test_processes_are_added_up(start: Callable[[float], Counting], tmp_path: Path) -> None:
    start(0.5)
    start(0.25)

    assert values(tmp_path) == {
        "seconds_count": 2,
        "seconds_sum": 0.75,
        "streams": 2,
    }


def test_an_ended_process_keeps_its_counts_and_loses_its_streams(
    start: Callable[[float], Counting], tmp_path: Path
) -> None:
    start(0.5)
    for _ in range(3):
        start(0.25).end()

    first, second = values(tmp_path), values(tmp_path)

    assert (
        first
        == second
        == {
            "seconds_count": 4,
            "seconds_sum": 1.25,
            "streams": 1,
        }
    )
    # The files do not become more, however often processes are started again.
    assert len(list(tmp_path.glob("histogram_*.db"))) == 2


def test_folders_that_no_process_uses_are_removed(tmp_path: Path) -> None:
    make = f"print(make_folder(Path({str(tmp_path)!r})))"
    with (
        subprocess.Popen([sys.executable, "-c", f"{IMPORT}; {make}"], cwd=ROOT) as ended,
        subprocess.Popen(
            [sys.executable, "-uc", f"{IMPORT}; {make}; {BECOME_ANOTHER}"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as replaced,
    ):
        ended.wait()
        assert replaced.stdout is not None
        used = Path(replaced.stdout.readline().decode().strip())

        made = process_files.make_folder(tmp_path)

        assert set(tmp_path.iterdir()) == {used, made}
        assert made.stat().st_mode & 0o777 == 0o700
        replaced.communicate()
