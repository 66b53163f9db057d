"""What a command says while it works: lines of its output that are for those who wait."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

LONGEST_TEXT = 2_000
# Between two of them; of a run that goes on for long they come more seldom.
SECONDS_BETWEEN = 1.0
SHARE_OF_A_RUN = 1 / 60
_line = re.compile(rb"^[ \t]*\{[^\n]{1,65536}\n", re.MULTILINE)


def without(output: bytes, say: Callable[[str], None]) -> bytes:
    """Whole lines of an output, less those that are progress: `{"state": "working", "text"}`."""

    def said(line: re.Match[bytes]) -> bytes:
        text = _text(line[0])
        if text is None:
            return line[0]
        say(text)
        return b""

    return _line.sub(said, output)


class Progress:
    """Of one run, which began `at` that second of a clock. The last word wins."""

    def __init__(self, *, at: float) -> None:
        self._began_at = at
        self._told_at: float | None = None
        self._text = ""
        self._number = 0

    def say(self, text: str, *, at: float) -> float | None:
        """In how many seconds it may be told; None where another waited, and it takes its place."""
        waited, self._text = self._text, text
        if waited:
            return None
        if self._told_at is None:
            return 0.0
        pause = max(SECONDS_BETWEEN, (at - self._began_at) * SHARE_OF_A_RUN)
        return max(0.0, self._told_at + pause - at)

    def tell(self, *, at: float) -> tuple[int, str]:
        """A number that counts up, and what was said last."""
        text, self._text = self._text, ""
        self._told_at = at
        self._number += 1
        return self._number, text


def _text(line: bytes) -> str | None:
    if b'"working"' not in line:
        return None
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    text = said.get("text")
    if said.get("state") != "working" or not isinstance(text, str) or not text.strip():
        return None
    return text.replace("\0", "")[:LONGEST_TEXT]
