"""Recognises diffs in details: patches as `git apply` reads them, and objects with `before` and
`after`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from inbox.rendering.diffs.step_budget import StepBudget
from inbox.rendering.diffs.word_diffs import (
    CONTEXT_LINES,
    MAX_LINES,
    Changes,
    DiffLine,
    changes,
)
from inbox.rendering.json_text import Number, written
from pages.characters.invisible import reveal, reveal_value

BEFORE, AFTER = "before", "after"
MAX_LINES_WITH_CONTEXT = 200  # of both sides together; a longer diff leaves out equal lines
SIGNS = {"+": "added", "-": "removed", " ": "same"}
NO_FILE = "/dev/null"
SHORTEST_REMARK = len("\\ No newline")  # git ignores a shorter remark

DOES_NOT_ADD_UP = (
    "This patch does not add up, so it is shown as text. git would refuse it or skip lines: "
    "see line {}."
)
COMBINED = "This is a combined diff, which git cannot apply. It is shown as text."
BINARY = "This patch has binary content, which cannot be read here. It is shown as text."

# git and this module know only the line break "\n", and only the digits of ASCII.
_HUNK = re.compile(r"@@ -[0-9]{1,9}(?:,([0-9]{1,9}))? \+[0-9]{1,9}(?:,([0-9]{1,9}))? @@")
_HAS_PATCH = re.compile(
    r"^(?:@@ -[0-9]|@@@+ -|GIT binary patch"
    r"|diff --git .*\n(?:old |new |deleted |similarity |dissimilarity |rename |copy |index |--- ))",
    re.MULTILINE,
)
_FILE = re.compile(
    r"(?:diff |Index: |={3,}|index |--- |\+\+\+ |old |new |deleted |similarity |dissimilarity "
    r"|rename |copy |Binary )"
)
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_AFTER_HUNKS = re.compile(r"(?:diff |Index: |From |-- ?\r?$)")


def unified(text: str) -> Changes | None:
    """Returns the lines of a patch of one or several files. Returns None for any other text, and
    for markdown with patches in fences. If the counts of a patch are wrong, the result has a
    `problem`, and its lines are text."""
    if not has_hunks_outside_fences(text):
        return None
    lines = text.removesuffix("\n").split("\n")
    problem = ""
    try:
        shown = list(_read(lines))
    except _Problem as found:
        problem = str(found)
        shown = [_line("text", line) for line in lines]
    return Changes(shown[:MAX_LINES], is_cut=len(shown) > MAX_LINES, problem=problem)


def has_hunks_outside_fences(text: str) -> bool:
    if not _HAS_PATCH.search(text):
        return False
    fence = ""
    outside = []
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if not fence:
            fence = match[1] if match else ""
            outside.append(line)
        elif match and match[1].startswith(fence) and not line[match.end() :].strip(" \t"):
            fence = ""
    return bool(_HAS_PATCH.search("\n".join(outside)))


def says_before_and_after(value: dict[str, Any]) -> bool:
    return BEFORE in value and AFTER in value


def compared(before: Any, after: Any, *, budget: StepBudget | None = None) -> Changes | None:
    """Compares two texts, or two values as JSON. Returns None if the two are equal or of different
    kinds."""
    if isinstance(before, str) and isinstance(after, str):
        return _compared(before, after, budget)
    if {type(before), type(after)} <= {dict, list, Number, bool, type(None)}:
        return _compared(_json(before), _json(after), budget)
    return None


def _compared(before: str, after: str, budget: StepBudget | None) -> Changes | None:
    """Shows every line of short texts, because the agent also sent the equal lines."""
    count = before.count("\n") + after.count("\n")
    context_lines = MAX_LINES if count <= MAX_LINES_WITH_CONTEXT else CONTEXT_LINES
    return changes(before, after, budget=budget, context_lines=context_lines) or None


class _Problem(Exception):
    """Marks a patch that git would refuse, or would read differently from a person."""


class _DoesNotAddUp(_Problem):
    def __init__(self, index: int) -> None:
        super().__init__(DOES_NOT_ADD_UP.format(f"{index + 1:,}"))


@dataclass(slots=True)
class _Hunk:
    """Counts the remaining lines of a hunk's old and new side."""

    index: int
    old: int
    new: int
    is_changing: bool = False
    # The kind of the previous line. A remark such as "\\ No newline" is about that line.
    last_kind: str = ""
    ended: frozenset[str] = frozenset()  # the kinds of lines that cannot follow such a remark

    @property
    def is_open(self) -> bool:
        return self.old > 0 or self.new > 0

    def read(self, line: str, index: int) -> DiffLine:
        if line.startswith("\\"):
            return self.remark(line, index)
        kind = SIGNS.get(line[:1] or " ", "")
        if not kind or kind in self.ended:
            raise _DoesNotAddUp(index)
        self.old -= kind != "added"
        self.new -= kind != "removed"
        if min(self.old, self.new) < 0:
            raise _DoesNotAddUp(index)
        self.is_changing |= kind != "same"
        if not self.is_open and not self.is_changing:
            raise _DoesNotAddUp(self.index)
        self.last_kind = kind
        return _line(kind, line[1:])

    def remark(self, line: str, index: int) -> DiffLine:
        """Reads `\\ No newline at end of file`. A later line of the same side would make git join
        the two lines, so there must be no later line of that side."""
        if not self.last_kind or not line.startswith("\\ ") or len(line) < SHORTEST_REMARK:
            raise _DoesNotAddUp(index)
        self.ended |= {"same"} | ({"added", "removed"} & {self.last_kind} or {"added", "removed"})
        self.last_kind = ""
        return _line("gap", line[1:].strip(" "))


def _read(lines: Sequence[str]) -> Iterator[DiffLine]:
    """Yields the lines as git reads them. Text before and between the patches is a note. But if
    text directly after a hunk looks like one of its lines, the counts of the hunk are doubtful."""
    hunk: _Hunk | None = None
    header = ""
    for index, line in enumerate(lines):
        if hunk and hunk.is_open:
            yield hunk.read(line, index)
        elif match := _HUNK.match(line):
            hunk = _Hunk(index, old=int(match[1] or 1), new=int(match[2] or 1))
            if not hunk.is_open:
                raise _DoesNotAddUp(index)
            yield _line("gap", line)
        elif hunk and line.startswith("\\"):
            yield hunk.remark(line, index)
        elif line.startswith("@@ -"):
            raise _DoesNotAddUp(index)
        elif line.startswith("@@@"):
            raise _Problem(COMBINED)
        elif line.startswith("GIT binary patch"):
            raise _Problem(BINARY)
        else:
            begins_file = line.startswith("--- ") and _at(lines, index + 1).startswith("+++ ")
            if begins_file and not _is_header(lines[index : index + 3], header):
                raise _DoesNotAddUp(index)
            if hunk and (begins_file or _AFTER_HUNKS.match(line)):
                hunk = None
            if hunk and line and line[0] in SIGNS:
                raise _DoesNotAddUp(index)
            header = line if line.startswith("diff ") else "" if begins_file else header
            is_note = bool(line) and not _FILE.match(line)
            yield _line("note" if is_note else "file", line)
    if hunk and hunk.is_open:
        raise _DoesNotAddUp(hunk.index)


def _is_header(lines: Sequence[str], header: str) -> bool:
    """Returns whether `--- a` and `+++ b` name the files of the `diff --git` line above, and a hunk
    follows."""
    old, new = (line[4:].rstrip("\r").partition("\t")[0] for line in lines[:2])
    if not _HUNK.match(_at(lines, 2)):
        return False
    if not header.startswith("diff --git "):
        return True
    names = header.removeprefix("diff --git ").rstrip("\r")
    return (old == NO_FILE or names.startswith(f"{old} ")) and (
        new == NO_FILE or names.endswith(f" {new}")
    )


def _at(lines: Sequence[str], index: int) -> str:
    return lines[index] if index < len(lines) else ""


def _line(kind: str, text: str) -> DiffLine:
    # git ends the name of a file that has blanks with a tab.
    shown = reveal(text, is_code=True) if kind == "file" else reveal_value(text, is_code=True)
    return DiffLine(kind, [(False, shown)])


def _json(value: Any) -> str:
    return "" if value is None else written(value)
