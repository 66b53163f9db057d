"""Asks a person for answers. The person is another process, the driver: it reads one wish per line
on its standard input, and writes one line for each wish on its standard output. Both are JSON."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TextIO, cast


@dataclass
class Wish:
    """Something that a person shall do: answer a delivery, or look at its page. `reason` says why
    the person could not do it."""

    members: dict[str, Any]
    is_done: bool = False  # the driver has answered, with yes or no
    is_granted: bool = False
    reason: str = ""
    answer: dict[str, Any] = field(default_factory=dict)  # what the driver wrote

    def settle(self, *, granted: bool, reason: str = "") -> None:
        self.is_granted, self.reason, self.is_done = granted, reason, True


class People(Protocol):
    def ask(self, wish: Wish) -> None:
        """Passes the wish on, and returns at once. The wish is settled later."""

    def close(self) -> None: ...


class NoOne:
    """Refuses every wish, because there is no driver."""

    def ask(self, wish: Wish) -> None:
        wish.settle(granted=False, reason="No person answers: choose one with --driver.")

    def close(self) -> None:
        """Has nothing to end."""


class Driver:
    """Runs the driver process."""

    def __init__(self, command: Sequence[str], variables: dict[str, str]) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - the tester names the command
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables
        )
        self._wishes_out = cast(TextIO, self._process.stdin)
        self._answers_in = cast(TextIO, self._process.stdout)
        self._wishes: list[Wish] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, wish: Wish) -> None:
        self._wishes.append(wish)
        try:
            self._wishes_out.write(json.dumps(wish.members) + "\n")
            self._wishes_out.flush()
        except (OSError, ValueError):  # ValueError: this process closed it
            wish.settle(granted=False, reason="The driver has ended.")

    def close(self) -> None:
        try:
            self._wishes_out.close()
            self._process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._reader.join(timeout=10)
        self._answers_in.close()

    def _read(self) -> None:
        answered = 0
        for line in self._answers_in:
            if answered < len(self._wishes):
                _settle(self._wishes[answered], line)
                answered += 1
        for wish in self._wishes[answered:]:
            wish.settle(granted=False, reason="The driver has ended.")


def _settle(wish: Wish, line: str) -> None:
    try:
        answer = json.loads(line)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or not isinstance(answer.get("done"), bool):
        answer = {"done": False, "reason": f"The driver wrote no answer, but: {line.strip()[:200]}"}
    wish.answer = answer
    wish.settle(granted=answer["done"], reason=str(answer.get("reason", "")))
