"""Lists every text of some details, and reads which of them a page shows."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from typing import Any

from inbox.rendering.json_text import Number
from inbox.rendering.shapes import moment, words
from pages.characters.invisible import reveal, reveal_value
from tests.integrity.values import KINDS, OF_BLOCKS, OF_SHAPES

# A page does not print these values, because they name kinds: a person sees the kind in how the
# page draws a block, a chart or a field.
KNOWN = [*KINDS, "image", "line", "bar", "long", "number", "boolean"]
_BLANKS = re.compile(r"\s+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d\d\d)")
_UNIQUE = re.compile(r"\d{8}")  # other texts may be at several places
_COUNTED = re.compile(r"([0-9,]+) (.*), in (?:the raw view|its table)$")
_VOID = {"br", "hr", "img", "input", "path"}


def missing_leaves(value: Any, page: str) -> list[str]:
    """Returns the texts of these details that the visible text of a page does not have."""
    text = _plain(page)
    return [
        leaf
        for leaf in leaves(value)
        if not any(_plain(way) in text or _in_lines(way, text) for way in _ways(leaf))
    ]


def _in_lines(way: str, text: str) -> bool:
    """Returns whether the text has all lines in this order. In a comparison, the other side of a
    changed line may stand between the lines."""
    place = 0
    for line in map(_plain, way.split("\n")):
        if (at := text.find(line, place)) < 0:
            return False
        place = at + len(line)
    return True


def missing_parts(value: Any, missing: set[str]) -> int:
    """Returns how many parts of a value are missing. A part that is missing completely counts once,
    however many texts the part has. The page has to count at least this many texts as left out.
    Only texts that occur once are compared. Another text would not show which of its places is in
    sight."""
    digits = Counter(run for leaf in leaves(value) for run in set(_UNIQUE.findall(leaf)))
    once = {
        leaf
        for leaf in leaves(value)
        if _UNIQUE.search(leaf) and all(digits[run] == 1 for run in _UNIQUE.findall(leaf))
    }
    return _missing_parts(value, missing & once, once)


def _missing_parts(value: Any, missing: set[str], once: set[str]) -> int:
    texts = once.intersection(leaves(value))
    if not missing & texts:
        return 0
    if texts <= missing:
        return 1
    if isinstance(value, dict) and len(value) > 1:
        return sum(_missing_parts({name: one}, missing, once) for name, one in value.items())
    children = value.values() if isinstance(value, dict) else value
    names = sum(name in missing for name in value) if isinstance(value, dict) else 0
    return names + sum(_missing_parts(child, missing, once) for child in children)


def left_out_at_most(phrases: Sequence[str]) -> int | None:
    """Returns how many parts a page counts as left out in its phrases. Returns None if the page
    does not count the parts, for example at the end of a long difference. If a figure of a chart is
    left out, its label is left out, too, and the page counts the two as one."""
    if any(phrase.startswith(("The end of", "Details of")) for phrase in phrases):
        return None
    counts = (_COUNTED.match(phrase) for phrase in phrases)
    return sum(
        int(count[1].replace(",", "")) * (2 if count[2].startswith("figure") else 1)
        for count in counts
        if count
    )


def leaves(value: Any) -> Iterator[str]:
    """Yields each text, each number as it was written, and each name that an agent chose itself."""
    match value:
        case Number():
            yield value.text
        case str():
            yield value
        case list():
            for child in value:
                yield from leaves(child)
        case dict():
            for name, child in value.items():
                if name not in OF_BLOCKS | OF_SHAPES:
                    yield name
                is_known = name in {"type", "kind"} and child in KNOWN
                if not is_known and name != "wake_blocks":
                    yield from leaves(child)


def _ways(leaf: str) -> Iterator[str]:
    """Yields how a page may write the leaf: as it is, as a time, as words, or in the JSON of a
    comparison."""
    yield reveal_value(leaf)
    yield reveal_value(leaf, is_code=True)
    yield reveal(json.dumps(leaf, ensure_ascii=False)[1:-1])
    if at := moment(leaf):
        yield at
    yield words(leaf)


def _plain(text: str) -> str:
    return _THOUSANDS.sub("", _BLANKS.sub("", text))


def visible_text(html: str) -> str:
    """Returns the text that a page shows: no attributes, no drawings, and nothing that is inside a
    closed fold or only for screen readers."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return "".join(reader.texts)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.hidden: list[bool] = [False]  # whether each open element is hidden

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        given = dict(attrs)
        is_closed = tag == "details" and "open" not in given
        hides = is_closed or tag == "svg" or given.get("class") == "sr-only"
        around = self.hidden[-2] if tag == "summary" else self.hidden[-1]
        self.hidden.append(around or hides)
        self.texts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID and len(self.hidden) > 1:
            self.hidden.pop()
            self.texts.append(" ")

    def handle_data(self, data: str) -> None:
        if not self.hidden[-1]:
            self.texts.append(data)
