"""Runs several commands as children of one process, and prints their output together.

A child that ends is started again. Each child has its own process group: Ctrl-C reaches only this
process, which then stops all children, and the children of a killed child are killed with it.

`manage.py up` replaces itself with this program, which imports nothing of Wake or Django. Waiting
then takes 12 MB instead of 130 MB, and no CPU time.
"""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from math import inf
from typing import NoReturn

# Children may finish their work for this long. A stop may take ten seconds in all.
GRACE_SECONDS = 8.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
# A command that ran this long started well, so its next restart is quick.
STEADY_SECONDS = 30.0
LOOK_SECONDS = 0.2
STOP_SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
STANDARD_INPUT = 0
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None

Say = Callable[[str], None]
Label = Callable[[str, str], str]


def replace_process(
    commands: Mapping[str, Sequence[str]],
    *,
    folder: str,
    host: str,
    port: int,
    greeting: str,
    is_json: bool,
) -> NoReturn:
    """Replaces this process with one that runs `main`. The plan goes to its standard input, because
    the greeting has a password and a key, and everyone can read the arguments of a process. With
    `is_json`, each line that it prints is a JSON object."""
    plan = {
        "commands": {name: list(command) for name, command in commands.items()},
        "folder": folder,
        "host": host,
        "port": port,
        "greeting": greeting,
        "is_json": is_json,
    }
    read_end, write_end = os.pipe()
    os.write(write_end, json.dumps(plan).encode())  # a pipe takes 64 kB
    os.close(write_end)
    os.dup2(read_end, STANDARD_INPUT)
    sys.stdout.flush()
    sys.stderr.flush()
    arguments = ["-I", __file__, "manage.py up"]  # the last is for people who look for a process
    os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606 - our own program


def main() -> None:
    """Runs the commands of `replace_process`. Prints the greeting once the port is open, or at the
    end, because the key and the password in it are stored nowhere."""
    plan = json.load(sys.stdin)
    greeting = [plan["greeting"]]
    label = json_line if plan["is_json"] else None
    say = _print_json if plan["is_json"] else _print

    def is_greeted() -> bool:
        if greeting and _answers(plan["host"], plan["port"]):
            say(greeting.pop())
        return not greeting

    try:
        run_together(
            plan["commands"], folder=plan["folder"], say=say, is_up=is_greeted, label=label
        )
    finally:
        for text in greeting:
            say(text)


def run_together(
    commands: Mapping[str, Sequence[str]],
    *,
    folder: str,
    say: Say,
    is_up: Callable[[], bool],
    label: Label | None = None,
) -> None:
    """Runs the commands until SIGINT, SIGTERM or SIGHUP, and returns when all have ended. Calls
    `is_up` several times a second until it returns True. After a second signal it stops without
    waiting. `label` gets the name of a command and a line of it, and returns the line to say.
    Without it, the line is `web    | line`."""
    width = max(map(len, commands))
    label = label or (lambda name, line: f"{name:<{width}} | {line}")
    with selectors.DefaultSelector() as selector, _signals(selector) as received:
        children = [
            Child(partial(label, name), command, folder, selector, say)
            for name, command in commands.items()
        ]
        is_starting = True
        try:
            while not received:
                pauses = [child.keep_running() for child in children]
                is_starting = is_starting and not is_up()
                _read(selector, min(LOOK_SECONDS if is_starting else inf, *pauses))
            say("Stopping.")
        finally:
            _stop(children, selector, received)


class Child:
    """Runs one command, and starts the command again when it ends: soon at first, then with longer
    pauses."""

    def __init__(
        self,
        label: Callable[[str], str],
        command: Sequence[str],
        folder: str,
        selector: selectors.BaseSelector,
        say: Say,
    ) -> None:
        self.label, self.command, self.folder = label, command, folder
        self.selector, self.say = selector, say
        self.process: subprocess.Popen[bytes] | None = None
        self.output = -1
        self.unfinished_line = b""
        self.pause = FIRST_PAUSE
        self.started_at = self.restart_due_at = 0.0

    def keep_running(self) -> float:
        """Starts the command if it is not running and its pause is over. Returns the rest of the
        pause in seconds. While the command runs, only a signal or output needs attention."""
        now = time.monotonic()
        if self.process is not None and not self.is_running():
            if now - self.started_at > STEADY_SECONDS:
                self.pause = FIRST_PAUSE
            code = self.process.returncode
            self.end()
            self.say(self.label(f"exited with {code} and restarts in {self.pause:g} s"))
            self.restart_due_at = now + self.pause
            self.pause = min(self.pause * 2, LONGEST_PAUSE)
        if self.process is None and now >= self.restart_due_at:
            self._start(now)
        return inf if self.process is not None else self.restart_due_at - now

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
        self.say(self.label(line.decode(errors="replace")))


def _read(selector: selectors.BaseSelector, seconds: float) -> None:
    """Waits for output or a signal, for at most this many seconds, and prints the output."""
    for key, _ in selector.select(None if seconds == inf else seconds):
        if isinstance(key.data, Child) and not key.data.read():
            selector.unregister(key.fileobj)
        elif isinstance(key.fileobj, socket.socket):
            key.fileobj.recv(4096)  # the numbers of the signals, which their handlers have seen


def _stop(children: list[Child], selector: selectors.BaseSelector, received: list[int]) -> None:
    for child in children:
        child.terminate()
    until = time.monotonic() + GRACE_SECONDS
    while any(map(Child.is_running, children)) and time.monotonic() < until and len(received) < 2:
        _read(selector, LOOK_SECONDS)
    for child in children:
        child.end()


@contextmanager
def _signals(selector: selectors.BaseSelector) -> Iterator[list[int]]:
    """Yields a list that collects the signals to stop. The selector wakes for these signals, and
    when a child ends. SIGHUP stays ignored under nohup."""
    received: list[int] = []
    handlers: dict[int, Callable[[int, object], object]] = {
        signal.SIGCHLD: lambda number, _: None,
        **dict.fromkeys(STOP_SIGNALS, lambda number, _: received.append(number)),
    }
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        del handlers[signal.SIGHUP]
    near, far = socket.socketpair()
    with near, far:
        os.set_blocking(far.fileno(), False)
        selector.register(near, selectors.EVENT_READ)
        wakeup = signal.set_wakeup_fd(far.fileno(), warn_on_full_buffer=False)
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield received
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(wakeup)
            selector.unregister(near)


def _answers(host: str, port: int) -> bool:
    """Returns whether the port is open. Once the port is open, every request is answered, even if
    the request must wait until the server has loaded."""
    with suppress(OSError), socket.create_connection((host, port), timeout=0.2):
        return True
    return False


def json_line(program: str, text: str) -> str:
    """Returns what a program printed as a line of the log (wake/server/telemetry/json_lines.py). A
    line of the log stays as it is."""
    if text.startswith("{") and text.endswith("}"):
        return text
    at = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")
    name = f"wake.up.{program}" if program else "wake.up"
    return json.dumps(
        {"time": at.replace("+00:00", "Z"), "level": "INFO", "logger": name, "message": text}
    )


def _print_json(line: str) -> None:
    _print(json_line("", line))


def _print(line: str) -> None:
    with suppress(OSError):  # a closed terminal is not a reason to stop
        sys.stdout.buffer.write(line.encode() + b"\n")
        sys.stdout.buffer.flush()


def _end_with_parent() -> None:
    """Makes Linux send the child SIGTERM when its parent is gone, even after kill -9. This function
    runs in the child, before the command. On other systems the child keeps running, and the next
    start says that the port is in use."""
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


if __name__ == "__main__":
    main()
