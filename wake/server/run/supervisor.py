"""Runs several commands as children of one process, and prints their output together.

A child that ends is started again. Each child has its own process group: Ctrl-C reaches only this
process, which then stops all children, and the children of a killed child are killed with it.
"""

from __future__ import annotations

import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

# Children may finish their work for this long. A stop may take ten seconds in all.
GRACE_SECONDS = 8.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
# A command that ran this long started well, so its next restart is quick.
STEADY_SECONDS = 30.0
TICK_SECONDS = 0.2
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None

Say = Callable[[str], None]


def run_together(
    commands: Mapping[str, Sequence[str]], *, folder: str, say: Say, tick: Callable[[], None]
) -> None:
    """Runs the commands until SIGINT, SIGTERM or SIGHUP, and returns when all have ended. Calls
    `tick` several times a second. After a second signal it stops without waiting."""
    width = max(map(len, commands))
    with selectors.DefaultSelector() as selector, _signals() as received:
        children = [
            Child(f"{name:<{width}} | ", command, folder, selector, say)
            for name, command in commands.items()
        ]
        try:
            while not received:
                for child in children:
                    child.keep_running()
                _read(selector)
                tick()
            say("Stopping.")
        finally:
            _stop(children, selector, received)


class Child:
    """Runs one command, and starts the command again when it ends: soon at first, then with longer
    pauses."""

    def __init__(
        self,
        prefix: str,
        command: Sequence[str],
        folder: str,
        selector: selectors.BaseSelector,
        say: Say,
    ) -> None:
        self.prefix, self.command, self.folder = prefix, command, folder
        self.selector, self.say = selector, say
        self.process: subprocess.Popen[bytes] | None = None
        self.output = -1
        self.unfinished_line = b""
        self.pause = FIRST_PAUSE
        self.started_at = self.restart_due_at = 0.0

    def keep_running(self) -> None:
        """Starts the command if it is not running and its pause is over."""
        now = time.monotonic()
        if self.process is None:
            if now >= self.restart_due_at:
                self._start(now)
        elif not self.is_running():
            if now - self.started_at > STEADY_SECONDS:
                self.pause = FIRST_PAUSE
            code = self.process.returncode
            self.end()
            self.say(f"{self.prefix}exited with {code} and restarts in {self.pause:g} s")
            self.restart_due_at = now + self.pause
            self.pause = min(self.pause * 2, LONGEST_PAUSE)

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def terminate(self) -> None:
        if self.process is not None:
            self.process.terminate()

    def end(self) -> None:
        """Kills the command and all its children."""
        if self.process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        while self.read():
            pass
        if self.unfinished_line:
            self._say(self.unfinished_line)
        with suppress(KeyError):
            self.selector.unregister(self.output)
        os.close(self.output)
        self.process, self.unfinished_line = None, b""

    def read(self) -> bool:
        """Prints the complete lines; returns whether there may be more."""
        try:
            part = os.read(self.output, 65_536)
        except BlockingIOError:
            return False
        *lines, self.unfinished_line = (self.unfinished_line + part).split(b"\n")
        for line in lines:
            self._say(line)
        return bool(part)

    def _start(self, now: float) -> None:
        self.output, write_end = os.pipe()
        self.process = subprocess.Popen(  # noqa: S603 - the commands are wake/server/run/roles.py's own
            self.command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=write_end,
            stderr=write_end,
            process_group=0,
            preexec_fn=_end_with_parent,
        )
        os.close(write_end)
        os.set_blocking(self.output, False)
        self.selector.register(self.output, selectors.EVENT_READ, self)
        self.started_at = now

    def _say(self, line: bytes) -> None:
        self.say(self.prefix + line.decode(errors="replace"))


def _read(selector: selectors.BaseSelector) -> None:
    for key, _ in selector.select(TICK_SECONDS):
        child: Child = key.data
        if not child.read():
            selector.unregister(child.output)


def _stop(children: list[Child], selector: selectors.BaseSelector, received: list[int]) -> None:
    for child in children:
        child.terminate()
    until = time.monotonic() + GRACE_SECONDS
    while any(map(Child.is_running, children)) and time.monotonic() < until and len(received) < 2:
        _read(selector)
    for child in children:
        child.end()


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Yields a list that collects the arriving signals. SIGHUP stays ignored under nohup."""
    received: list[int] = []
    before = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, lambda number, _: received.append(number))
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_with_parent() -> None:
    """Makes Linux send the child SIGTERM when its parent is gone, even after kill -9. This function
    runs in the child, before the command. On other systems the child keeps running, and the next
    start says that the port is in use."""
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
