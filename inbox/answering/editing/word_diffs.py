"""Compares two texts by lines and then by words, within one budget of steps.

difflib takes 14 s for one line of 20 kB and a minute for repetitive lines, so this is
diff-match-patch, which returns a coarser answer when its budget is spent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Literal

from inbox.answering.editing.step_budget import Comparison, StepBudget
from pages.characters.invisible import reveal

CONTEXT_LINES = 3
MOST_LINES = 2_000
MOST_LETTERS = 200_000  # compared word by word; that step has no limit of its own

# Chinese and Japanese are written without blanks: there each letter is a word.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+|\s+|.")
_FIRST_CODE = 0xE000  # from here on there are no surrogates

Op = Literal[-1, 0, 1]
Diff = tuple[Op, str]
KINDS: dict[Op, str] = {-1: "removed", 0: "same", 1: "added"}


@dataclass(frozen=True, slots=True)
class Line:
    """Holds one line of a comparison. `kind` is same, added, removed or gap, and in a patch also
    file, note or text; the parts are (changed, text). A gap stands for so many `skipped` lines."""

    kind: str
    parts: list[tuple[bool, str]]
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Changes:
    """Holds the comparison of two texts. If `is_whole`, the budget was spent, so whole blocks are
    shown as replaced; if `is_cut`, lines were left out. A patch with a `problem` is only text."""

    lines: list[Line]
    is_whole: bool = False
    is_cut: bool = False
    problem: str = ""

    def __bool__(self) -> bool:
        return bool(self.lines)

    @property
    def skipped(self) -> int:
        """Returns how many equal lines are not shown."""
        return sum(line.skipped for line in self.lines)


def changes(
    before: str,
    after: str,
    *,
    budget: StepBudget | None = None,
    context_lines: int = CONTEXT_LINES,
) -> Changes:
    """Returns what changed, with so many equal lines around it; no lines if the texts are equal.
    Several comparisons can share one budget."""
    if before == after:
        return Changes([])
    dmp, budget = Comparison(), budget or StepBudget()
    chars_before, chars_after, lines = dmp.diff_linesToChars(_ended(before), _ended(after))
    diffs: list[Diff] = dmp.diff_main(chars_before, chars_after, checklines=False, deadline=budget)
    dmp.diff_charsToLines(diffs, lines)
    lines_shown = list(islice(_lines(dmp, diffs, budget, context_lines), MOST_LINES + 1))
    lines_shown += _last_break(before, after)
    return Changes(
        lines_shown[:MOST_LINES],
        is_whole=budget.is_spent,
        is_cut=len(lines_shown) > MOST_LINES,
    )


def share_changed(before: str, after: str, *, budget: StepBudget) -> float:
    """Returns the changed share of both texts, from 0 to 1; too high rather than too low if the
    budget is spent."""
    if before == after:
        return 0.0
    diffs = _by_words(Comparison(), before, after, budget)
    return sum(len(text) for op, text in diffs if op) / (len(before) + len(after))


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


def _lines(
    dmp: Comparison, diffs: list[Diff], budget: StepBudget, context_lines: int
) -> Iterator[Line]:
    blocks = [
        (changed, list(block)) for changed, block in groupby(diffs, lambda diff: diff[0] != 0)
    ]
    for number, (changed, block) in enumerate(blocks):
        if changed:
            yield from _changed(dmp, block, budget)
        else:
            same = "".join(text for _, text in block).removesuffix("\n").split("\n")
            head = context_lines if number else 0
            tail = context_lines if number < len(blocks) - 1 else 0
            yield from _context(same, head, tail)


def _changed(dmp: Comparison, block: list[Diff], budget: StepBudget) -> Iterator[Line]:
    """Yields the removed lines, then the added ones, with the changed words marked in both."""
    removed = "".join(text for op, text in block if op == -1)
    added = "".join(text for op, text in block if op == 1)
    inner: list[Diff] = [(-1, removed), (1, added)]
    is_short = len(removed) + len(added) <= MOST_LETTERS
    if removed and added and is_short and not budget.is_spent:
        inner = _by_words(dmp, removed, added, budget)
    for side in (-1, 1):
        parts = [(op != 0, text) for op, text in inner if op in (0, side) and text]
        wholly = all(changed for changed, _ in parts)
        yield from _split([(changed and not wholly, text) for changed, text in parts], KINDS[side])


def _by_words(dmp: Comparison, removed: str, added: str, budget: StepBudget) -> list[Diff]:
    """Compares words by mapping each to one letter, as the library does with lines."""
    codes: dict[str, str] = {}

    def coded(text: str) -> str:
        words = _WORD.findall(text)
        return "".join(codes.setdefault(word, chr(_FIRST_CODE + len(codes))) for word in words)

    diffs = dmp.diff_main(coded(removed), coded(added), checklines=False, deadline=budget)
    if not budget.is_spent:
        dmp.diff_cleanupSemantic(diffs)
    words = list(codes)
    return [(op, "".join(words[ord(code) - _FIRST_CODE] for code in text)) for op, text in diffs]


def _split(parts: list[tuple[bool, str]], kind: str) -> Iterator[Line]:
    line: list[tuple[bool, str]] = []
    for changed, text in parts:
        *whole, rest = text.split("\n")
        for piece in whole:
            yield Line(kind, [*line, (changed, reveal(piece))])
            line = []
        if rest:
            line.append((changed, reveal(rest)))
    if line:
        yield Line(kind, line)


def _last_break(before: str, after: str) -> Iterator[Line]:
    """Says that one text ends with a line break and the other does not, which no line shows."""
    if before.endswith("\n") == after.endswith("\n"):
        return
    if not (before and after) and before + after != "\n":
        return
    side = "before" if before.endswith("\n") else "after"
    yield Line("gap", [(False, f"Only the text {side} the change ends with a line break")])


def _context(same: list[str], head: int, tail: int) -> Iterator[Line]:
    if len(same) <= head + tail + 1:
        yield from (_same(text) for text in same)
        return
    yield from (_same(text) for text in same[:head])
    skipped = len(same) - head - tail
    yield Line("gap", [(False, f"{skipped:,} lines the same")], skipped)
    yield from (_same(text) for text in same[len(same) - tail :])


def _same(text: str) -> Line:
    return Line("same", [(False, reveal(text))])
