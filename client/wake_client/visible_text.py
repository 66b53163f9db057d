"""Names characters that a terminal acts on, characters that people cannot see, blanks that are not
spaces, and marks that reach into other lines."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from wake_client.invisible_ranges import BLANKS, HIDDEN, MARKS

# Control and format characters, line separators, and code points without a character.
INVISIBLE_CATEGORIES = {"Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn"}
# Also letters, marks and symbols that are drawn as nothing, or as a blank that is not a space.
INVISIBLE = re.compile(f"[{HIDDEN}{BLANKS}]")
MARK = re.compile(f"[{MARKS}]")
TALLEST = 6  # marks on one letter; more of them reach the next line
# One of these stays between letters and digits, as in 10 000 and in Japanese.
BLANKS_OF_WRITING = {"\u00a0", "\u2009", "\u202f", "\u3000"}
PRINTABLE_ASCII = re.compile(r"[\x20-\x7e]*")
# These choose between the two drawings of the preceding symbol, such as a heart in text or in
# colour.
VARIATIONS = {"\ufe0e", "\ufe0f"}


def visible(text: str, *, keep: str = "") -> str:
    """Returns the text with the name of each such character in its place, such as ⟨U+202E⟩. Only
    the characters in `keep` stay. The result is one line, unless a line break is in `keep`."""
    if PRINTABLE_ASCII.fullmatch(text):
        return text
    return "".join(
        letter if letter in keep or stays else f"⟨U+{ord(letter):04X}⟩"
        for letter, stays in _judged(text)
    )


def visible_lines(text: str) -> str:
    """Works like `visible` for a text of several lines, which keeps its line feeds and tabs."""
    return visible(text, keep="\n\t")


def indented(text: str) -> str:
    """Returns the lines of another author's text, each indented by two spaces, so that none can be
    taken for a line of this program."""
    return "\n".join(f"  {line}" for line in visible_lines(text).split("\n"))


def shortened(text: str, longest: int) -> str:
    """Returns the text, or its beginning with an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def json_text(value: Any) -> str:
    """Returns JSON on one line, with these characters as escapes. A program reads the same value,
    and a terminal acts on nothing."""
    text = json.dumps(value, ensure_ascii=False, default=lambda time: time.isoformat())
    return "".join(letter if stays else json.dumps(letter)[1:-1] for letter, stays in _judged(text))


def _judged(text: str) -> Iterator[tuple[str, bool]]:
    """Yields each character, and whether a person sees it where it stands."""
    marks = 0
    around = zip(" " + text, text, text[1:] + " ", strict=False)
    for before, letter, after in around:
        marks = marks + 1 if MARK.match(letter) else 0
        yield letter, marks <= TALLEST and _is_visible(letter, before, after)


def _is_visible(letter: str, before: str, after: str) -> bool:
    if letter in BLANKS_OF_WRITING:
        return before.isalnum() and after.isalnum()
    if letter in VARIATIONS:
        return bool(before) and unicodedata.category(before) == "So"
    if unicodedata.category(letter) in INVISIBLE_CATEGORIES:
        return False
    return not INVISIBLE.match(letter)
