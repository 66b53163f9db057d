"""Finds the progress that a command reports in its output, and limits how often it is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

MAX_TEXT = 2_000
# The pause between two reports grows with the time that the run has taken.
MIN_PAUSE_SECONDS = 1.0
PAUSE_PER_RUN_SECOND = 1 / 60
JSON_LINE = re.compile(rb"^[ \t]*\{[^\n]{1,65536}\n", re.MULTILINE)


def extract(output: bytes, report: Callable[[str], None]) -> bytes:
    """Calls `report` with the text of each line `{"state": "working", "text": "..."}`, and returns
    the output without these lines. `output` consists of whole lines."""

    def replace(line: re.Match[bytes]) -> bytes:
        text = _progress_text(line[0])
        if text is None:
            return line[0]
        report(text)
        return b""

    return JSON_LINE.sub(replace, output)


class Progress:
    """Limits the reports of one run. `at` is always a time in seconds on one clock."""

    def __init__(self, *, at: float) -> None:
        self._started_at = at
        self._sent_at: float | None = None
        self._text = ""
        self._number = 0

    def report(self, text: str, *, at: float) -> float | None:
        """Returns in how many seconds to send this text; None if it replaces one that waits."""
        replaces_another, self._text = bool(self._text), text
        if replaces_another:
            return None
        if self._sent_at is None:
            return 0.0
        pause = max(MIN_PAUSE_SECONDS, (at - self._started_at) * PAUSE_PER_RUN_SECOND)
        return max(0.0, self._sent_at + pause - at)

    def next(self, *, at: float) -> tuple[int, str]:
        """Returns what to send now: a number that counts up, and the latest text."""
        text, self._text = self._text, ""
        self._sent_at = at
        self._number += 1
        return self._number, text


def _progress_text(line: bytes) -> str | None:
    if b'"working"' not in line:
        return None
    try:
        progress = json.loads(line)
    except (ValueError, RecursionError):
        return None
    text = progress.get("text")
    if progress.get("state") != "working" or not isinstance(text, str) or not text.strip():
        return None
    return text.replace("\0", "")[:MAX_TEXT]
