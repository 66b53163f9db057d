"""Shortens a message of any length to a headline and a summary, each on one line."""

from __future__ import annotations

import re

from pages.characters.names import is_visible

HEADLINE, SUMMARY = 120, 280
# In characters. The rest of a longer text is in neither the headline nor the summary, because a
# message may have 10 MB, and `_LINK` takes quadratic time.
LOOKED_AT = 4_000

# Markdown between the words of a line that is shown without formatting.
_LINE_MARKS = re.compile(r"^\s*(?:#{1,6}\s+|>\s*|[-*+]\s+|```.*$|(?:[-*_]\s*){3,}$)")
_LINK = re.compile(r"\[([^\]]+)\]\([^)\s]*\)")
_MARKS = re.compile(r"\*\*|__|~~|`")
# Characters that one line may not have (accounts.models.SINGLE_LINE), and other blanks.
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_SENTENCE = re.compile(r"(?<=[.!?:])\s")


def in_short(text: str, *, headline: str, summary: str) -> tuple[str, str]:
    """Returns a headline and a summary. The headline is the first line of the text, or its first
    sentence if that line is long. The summary is the text that follows. If one of them would be
    empty, `headline` or `summary` is used instead."""
    lines = [line for line in map(_plain, text[:LOOKED_AT].splitlines()) if is_visible(line)]
    first, rest = (lines[0], " ".join(lines[1:])) if lines else ("", "")
    if len(first) > HEADLINE:
        sentence = _SENTENCE.split(first, maxsplit=1)
        if len(sentence) == 2 and len(sentence[0]) <= HEADLINE:
            first, rest = sentence[0], f"{sentence[1]} {rest}"
        else:
            rest = f"{first} {rest}"
    return cut(first or headline, HEADLINE), cut(rest or summary, SUMMARY)


def cut(text: str, longest: int) -> str:
    """Shortens a text to one line, and cuts at the end of a word if one is near."""
    line = _BLANKS.sub(" ", text).strip()
    if len(line) <= longest:
        return line
    cut_line = line[: longest - 1]
    head, blank, _ = cut_line.rpartition(" ")
    return f"{head if blank and len(head) > longest // 2 else cut_line}…"


def _plain(line: str) -> str:
    """Removes the marks of Markdown."""
    bare = _LINK.sub(r"\1", _LINE_MARKS.sub("", line))
    return _BLANKS.sub(" ", _MARKS.sub("", bare)).strip()
