"""One command runs, restarts and stops several processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.wake.server.up import ROOT, eventually

pytestmark = [pytest.mark.once, pytest.mark.system]

# This child ignores SIGTERM, and has a child of its own.
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("grandchild", child.pid, flush=True)
time.sleep(600)
"""
TOGETHER = """
import sys
from wake.server.run import supervisor
supervisor.GRACE_SECONDS = 0.5
supervisor.FIRST_PAUSE = 0.1
looks = []
supervisor.run_together(
    {name: [sys.executable, "-uc", code] for name, code in zip(sys.argv[1::2], sys.argv[2::2])},
    folder=".",
    say=lambda line: print(line, flush=True),
    is_up=lambda: looks.append(1) or len(looks) == 3,
)
print("looked", len(looks))
"""


class Together:
    def __init__(self, log: Path, **codes: str) -> None:
        self.log = log
        arguments = [word for pair in codes.items() for word in pair]
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", TOGETHER, *arguments],
                cwd=ROOT,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()

    def stop(self) -> float:
        began = time.monotonic()
        self.process.terminate()
        self.process.wait(60)
        return time.monotonic() - began


@pytest.fixture
def together(tmp_path: Path) -> Iterator[Callable[..., Together]]:
    started: list[Together] = []

    def start(**codes: str) -> Together:
        started.append(Together(tmp_path / f"{len(started)}.log", **codes))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.stop()


def is_alive(pid: int) -> bool:
    """Says whether the process is alive. A zombie counts as dead."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_each_log_line_names_its_process(together: Callable[..., Together]) -> None:
    wait = "; import time; time.sleep(600)"

    both = together(a=r"print('one\ntwo', end='')" + wait, long="print('three')" + wait)
    eventually(lambda: len(both.lines) >= 2)
    both.stop()

    assert set(both.lines) == {
        "a    | one",
        "a    | two",
        "long | three",
        "Stopping.",
        "looked 3",
    }


def test_a_failing_process_is_restarted_with_growing_pauses(
    together: Callable[..., Together],
) -> None:
    failing = together(web="raise SystemExit(3)")

    eventually(lambda: sum("exited with 3 " in line for line in failing.lines) >= 4)

    pauses = [line.rsplit(" ", 2)[1] for line in failing.lines if "exited with" in line]
    assert pauses[:4] == ["0.1", "0.2", "0.4", "0.8"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")
def test_a_process_that_does_not_stop_is_killed_with_its_children(
    together: Callable[..., Together],
) -> None:
    stubborn = together(web=STUBBORN)
    line = eventually(lambda: next((line for line in stubborn.lines if "grand" in line), None))
    grandchild = int(line.rsplit(" ", 1)[1])

    stubborn.stop()

    assert stubborn.process.returncode == 0
    eventually(lambda: not is_alive(grandchild))


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel of Linux for it")
def test_a_killed_supervisors_children_end(together: Callable[..., Together]) -> None:
    parent = together(web="import os, time; print('child', os.getpid()); time.sleep(600)")
    line = eventually(lambda: next((line for line in parent.lines if "child" in line), None))

    parent.process.send_signal(signal.SIGKILL)
    parent.process.wait()

    eventually(lambda: not is_alive(int(line.rsplit(" ", 1)[1])))
