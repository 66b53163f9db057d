"""Keeps text of two directions in its order: letters of Hebrew or Arabic must not move the numbers
and options behind them.

By Unicode's rules a browser shows `rm א 123 /x` as `rm 123 א /x`. Wake prevents this by putting
each part with another direction into its own HTML element.
"""

from __future__ import annotations

import re
import unicodedata

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

# The blocks whose characters go from right to left, with their digits and marks.
_RTL = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff"
_ANY = re.compile(f"[{_RTL}]")
_WORD = re.compile(rf"[{_RTL}]++")
# Words beside each other are a phrase, which people read from the right.
_PHRASE = re.compile(rf"[{_RTL}]++(?:(?:[ ,.:;!?'\"()–—]{{1,4}}|-)[{_RTL}]++)*+")  # noqa: RUF001
# Latin words with options and paths, in a line that goes from right to left. Also numbers around an
# arrow, because a browser would swap the numbers and not turn the arrow.
_AMOUNT = r"[0-9., $€£¥₪%+-]{0,40}"
_ARROWS = r"[\u2190-\u21ff\u2794-\u27be\u27f0-\u27ff\u2900-\u297f]+"
_LATIN = re.compile(
    r"(?:(?<!\S)[-~/.$]{1,3})?[A-Za-z](?:[ -~]*[A-Za-z0-9/*])?"
    rf"|[0-9](?:{_AMOUNT}{_ARROWS}{_AMOUNT}[0-9])+"
)
_LEFT, _RIGHT = {"L"}, {"R", "AL"}


def isolated(text: str, *, is_code: bool = False) -> str:
    """Returns the text, as HTML if it has letters from right to left. In code, each right-to-left
    word gets its own element. In other text, each right-to-left phrase does, or each Latin part if
    the line goes from right to left. Each line has the direction of its first letter."""
    if not _ANY.search(text):
        return text
    if is_code:
        return _apart(text, _WORD)
    lines = (isolated_in_line(line, is_left=goes_left(line)) for line in text.split("\n"))
    return format_html_join("\n", "{}", ((line,) for line in lines))


def direction_of_code(text: str) -> str:
    """Returns the `dir` of a line that may be code: `auto` only if its first character is a letter
    from right to left."""
    return "auto" if _ANY.match(text.lstrip()) else "ltr"


def isolated_in_line(text: str, *, is_left: bool) -> str:
    """Returns a part of a line, isolated as HTML if necessary. `is_left` says that the line goes
    from right to left."""
    if is_left:
        return _apart(text, _LATIN)
    return _apart(text, _PHRASE) if _ANY.search(text) else text


def goes_left(line: str) -> bool:
    """Returns whether a browser shows the line from right to left: its first letter decides."""
    for letter in line:
        kind = unicodedata.bidirectional(letter)
        if kind in _LEFT | _RIGHT:
            return kind in _RIGHT
    return False


def _apart(text: str, pattern: re.Pattern[str]) -> SafeString:
    pieces: list[str] = []
    done = 0
    for match in pattern.finditer(text):
        pieces += [text[done : match.start()], format_html("<bdi>{}</bdi>", match[0])]
        done = match.end()
    return format_html_join("", "{}", ((piece,) for piece in [*pieces, text[done:]]))
