"""Compares two texts by lines and then by words, within one budget of steps.

difflib takes 14 s for one line of 20 kB and a minute for repetitive lines. So this module uses
diff-match-patch, which returns a coarser result when its budget is spent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Literal

from inbox.rendering.diffs.step_budget import Comparison, StepBudget
from pages.characters.invisible import reveal, reveal_value

CONTEXT_LINES = 3
MAX_LINES = 2_000
MAX_LETTERS = 200_000  # nothing else limits the comparison by words

# Chinese and Japanese are written without blanks, so each letter is a word.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+|\s+|.")
_FIRST_CODE = 0xE000  # above this code there are no surrogates

Op = Literal[-1, 0, 1]
Diff = tuple[Op, str]
KINDS: dict[Op, str] = {-1: "removed", 0: "same", 1: "added"}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """Holds one line of a comparison. `kind` is same, added, removed or gap, and in a patch also
    file, note or text. The parts are (changed, text). A gap stands for `skipped` lines."""

    kind: str
    parts: list[tuple[bool, str]]
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Changes:
    """Holds the comparison of two texts. If `is_whole`, the budget was spent, so whole blocks are
    shown as replaced. If `is_cut`, lines were left out. A patch with a `problem` is only text."""

    lines: list[DiffLine]
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
    """Returns the changes, with `context_lines` equal lines around them; no lines if the texts are
    equal. Several comparisons can share one budget."""
    if before == after:
        return Changes([])
    dmp, budget = Comparison(), budget or StepBudget()
    chars_before, chars_after, lines = dmp.diff_linesToChars(_ended(before), _ended(after))
    diffs: list[Diff] = dmp.diff_main(chars_before, chars_after, checklines=False, deadline=budget)
    dmp.diff_charsToLines(diffs, lines)
    lines_shown = list(islice(_lines(dmp, diffs, budget, context_lines), MAX_LINES + 1))
    lines_shown += _last_break(before, after)
    return Changes(
        lines_shown[:MAX_LINES],
        is_whole=budget.is_spent,
        is_cut=len(lines_shown) > MAX_LINES,
    )


def share_changed(before: str, after: str, *, budget: StepBudget) -> float:
    """Returns the changed share of both texts, from 0 to 1. If the budget is spent, the result is
    too high rather than too low."""
    if before == after:
        return 0.0
    diffs = _by_words(Comparison(), before, after, budget)
    return sum(len(text) for op, text in diffs if op) / (len(before) + len(after))


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


def _lines(
    dmp: Comparison, diffs: list[Diff], budget: StepBudget, context_lines: int
) -> Iterator[DiffLine]:
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


def _changed(dmp: Comparison, block: list[Diff], budget: StepBudget) -> Iterator[DiffLine]:
    """Yields the removed lines, then the added ones, with the changed words marked in both."""
    removed = "".join(text for op, text in block if op == -1)
    added = "".join(text for op, text in block if op == 1)
    inner: list[Diff] = [(-1, removed), (1, added)]
    is_short = len(removed) + len(added) <= MAX_LETTERS
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


def _split(parts: list[tuple[bool, str]], kind: str) -> Iterator[DiffLine]:
    line: list[tuple[bool, str]] = []
    for changed, text in parts:
        *whole, rest = text.split("\n")
        for piece in whole:
            yield _whole_line(kind, [*line, (changed, piece)])
            line = []
        if rest:
            line.append((changed, rest))
    if line:
        yield _whole_line(kind, line)


def _whole_line(kind: str, pieces: list[tuple[bool, str]]) -> DiffLine:
    *first, (changed, end) = [piece for piece in pieces if piece[1]] or [(False, "")]
    shown = [(is_changed, reveal(piece, is_code=True)) for is_changed, piece in first]
    return DiffLine(kind, [*shown, (changed, reveal_value(end, is_code=True))])


def _last_break(before: str, after: str) -> Iterator[DiffLine]:
    """Adds a line if only one text ends with a line break, because otherwise no line would show the
    difference."""
    if before.endswith("\n") == after.endswith("\n"):
        return
    if not (before and after) and before + after != "\n":
        return
    side = "before" if before.endswith("\n") else "after"
    yield DiffLine("gap", [(False, f"Only the text {side} the change ends with a line break")])


def _context(same: list[str], head: int, tail: int) -> Iterator[DiffLine]:
    if len(same) <= head + tail + 1:
        yield from (_same(text) for text in same)
        return
    yield from (_same(text) for text in same[:head])
    skipped = len(same) - head - tail
    yield DiffLine("gap", [(False, f"{skipped:,} lines the same")], skipped)
    yield from (_same(text) for text in same[len(same) - tail :])


def _same(text: str) -> DiffLine:
    return DiffLine("same", [(False, reveal_value(text, is_code=True))])
