"""Finds the progress that a command reports in its output, and limits how often progress is
sent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wake_client.visible_text import shortened

MAX_TEXT = 2_000
# The pause between two reports grows with the time that the run has taken.
MIN_PAUSE_SECONDS = 1.0
PAUSE_PER_RUN_SECOND = 1 / 60
JSON_LINE = re.compile(rb"^[ \t]*\{[^\n]{1,1048576}\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Report:
    """Holds the content of one progress line: a text, a piece of an artifact, or both."""

    text: str = ""
    artifact: dict[str, Any] | None = None


def extract(output: bytes, report: Callable[[Report], None]) -> bytes:
    """Calls `report` for each progress line `{"state": "working", "text": "...", "artifact":
    {...}}`, which has a text, an artifact or both. Returns the output without these lines. `output`
    consists of complete lines."""

    def replace(line: re.Match[bytes]) -> bytes:
        progress = _read(line[0])
        if progress is None:
            return line[0]
        report(progress)
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
        """Stores the text. Returns in how many seconds to send the text. Returns None if an earlier
        text was still waiting to be sent, because the new text then replaces the earlier one."""
        replaces_another, self._text = bool(self._text), text
        if replaces_another:
            return None
        if self._sent_at is None:
            return 0.0
        pause = max(MIN_PAUSE_SECONDS, (at - self._started_at) * PAUSE_PER_RUN_SECOND)
        return max(0.0, self._sent_at + pause - at)

    def next(self, *, at: float) -> tuple[int, str]:
        """Returns the next report to send: a number that counts up, and the latest text."""
        text, self._text = self._text, ""
        self._sent_at = at
        return self.count(), text

    def count(self) -> int:
        """Returns the number of the run's next report, of either kind."""
        self._number += 1
        return self._number


def _read(line: bytes) -> Report | None:
    """Returns the report in a line, or None if the line is part of the answer."""
    if b'"working"' not in line:
        return None
    try:
        progress = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if progress.get("state") != "working":
        return None
    text, artifact = progress.get("text"), progress.get("artifact")
    is_text = isinstance(text, str) and text.strip()
    text = shortened(text.replace("\0", ""), MAX_TEXT) if is_text else ""
    artifact = artifact if _is_artifact(artifact) else None
    return Report(text, artifact) if text or artifact else None


def _is_artifact(value: Any) -> bool:
    """Returns whether this is a piece that can be joined with others. The relay checks the rest."""
    if not isinstance(value, dict) or not isinstance(value.get("artifactId"), str):
        return False
    return isinstance(value.get("parts"), list) and bool(value["parts"])
