"""Recognises diffs in details: unified diff texts, and objects with `before` and `after`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from accounts.characters.invisible import reveal
from inbox.answering.editing.step_budget import StepBudget
from inbox.answering.editing.word_diffs import MOST_LINES, Changes, Line, changes
from inbox.rendering.json_text import Number, written

BEFORE, AFTER = "before", "after"
_STARTS = re.compile(r"\s*(?:diff --git |Index: |--- |@@ -\d)")
_HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_FILE = re.compile(
    r"(?:diff |Index: |={3,}|index |--- |\+\+\+ |old |new |deleted |similarity |rename |copy "
    r"|Binary )"
)
_SIGNS = {"+": "added", "-": "removed", " ": "same"}


def unified(text: str) -> Changes | None:
    """Returns the lines of a unified diff of one or several files; None for any other text."""
    if not _STARTS.match(text) or not _HUNK.search(text):
        return None
    try:
        lines = list(islice(_read(text.strip("\n").splitlines()), MOST_LINES + 1))
    except _NoDiff:
        return None
    return Changes(lines[:MOST_LINES], is_cut=len(lines) > MOST_LINES)


def says_before_and_after(value: dict[str, Any]) -> bool:
    return BEFORE in value and AFTER in value


def compared(before: Any, after: Any, *, budget: StepBudget | None = None) -> Changes | None:
    """Compares two texts, or two values as JSON; None if they are equal or of different kinds."""
    if isinstance(before, str) and isinstance(after, str):
        return changes(before, after, budget=budget) or None
    if {type(before), type(after)} <= {dict, list, Number, bool, type(None)}:
        return changes(_json(before), _json(after), budget=budget) or None
    return None


class _NoDiff(Exception):
    """A line that no diff has."""


def _read(lines: list[str]) -> Iterator[Line]:
    """Yields the lines. `left` counts what the hunk still has of the old and the new side, because
    `--- a` begins another file only after its end."""
    left = [0, 0]
    for line in lines:
        if hunk := _HUNK.match(line):
            left = [int(count or 1) for count in hunk.groups()]
            yield _line("gap", line)
        elif max(left) <= 0 and (_FILE.match(line) or not line):
            yield _line("file", line)
        elif line[:1] in _SIGNS or not line:
            kind = _SIGNS[line[:1] or " "]
            left[0] -= kind != "added"
            left[1] -= kind != "removed"
            yield _line(kind, line[1:])
        elif line.startswith("\\"):
            yield _line("gap", line[1:].strip())
        else:
            raise _NoDiff


def _line(kind: str, text: str) -> Line:
    return Line(kind, [(False, reveal(text))])


def _json(value: Any) -> str:
    return "" if value is None else written(value)
