"""Names the characters that a terminal acts on, and those that no person sees."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

# Control and format characters, separators of lines, and code points without a character.
INVISIBLE_CATEGORIES = {"Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn"}
# Letters, marks and symbols that are drawn as nothing, or as a blank that is not a space.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc"
    "\U00013430-\U0001345f\U0001d159\U000e0000-\U000e0fff]"
)
PRINTABLE_ASCII = re.compile(r"[\x20-\x7e]*")
# Chooses between the two drawings of the symbol before it, such as a heart in text or in colour.
VARIATIONS = {"\ufe0e", "\ufe0f"}


def visible(text: str, *, keep: str = "") -> str:
    """Returns the text with the name of each such character in its place, such as ⟨U+202E⟩. Only
    the characters of `keep` stay. The result is one line, unless a line break is kept."""
    if PRINTABLE_ASCII.fullmatch(text):
        return text
    letters = []
    before = ""
    for letter in text:
        stays = letter in keep or _is_visible(letter, before)
        letters.append(letter if stays else f"⟨U+{ord(letter):04X}⟩")
        before = letter
    return "".join(letters)


def visible_lines(text: str) -> str:
    """Does the same for a text of several lines, which keeps its line feeds and tabs."""
    return visible(text, keep="\n\t")


def indented(text: str) -> str:
    """Returns the lines of another author's text, each two spaces in, so that none can be taken for
    a line of this program."""
    return "\n".join(f"  {line}" for line in visible_lines(text).split("\n"))


def shortened(text: str, longest: int) -> str:
    """Returns the text, or its beginning with an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def json_text(value: Any) -> str:
    """Returns JSON on one line with such characters as escapes: the same value to a program, and
    nothing that a terminal acts on."""
    text = json.dumps(value, ensure_ascii=False, default=lambda time: time.isoformat())
    return "".join(
        letter if _is_visible(letter, before) else json.dumps(letter)[1:-1]
        for before, letter in zip(" " + text, text, strict=False)
    )


def _is_visible(letter: str, before: str) -> bool:
    if letter in VARIATIONS:
        return bool(before) and unicodedata.category(before) == "So"
    if unicodedata.category(letter) in INVISIBLE_CATEGORIES:
        return False
    return not INVISIBLE.match(letter)
