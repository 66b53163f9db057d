"""Lists every text of some details, and reads what a page shows of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from inbox.rendering.json_text import Number
from inbox.rendering.shapes import moment, words
from pages.characters.invisible import reveal
from tests.integrity.values import KINDS, OF_BLOCKS, OF_SHAPES

# Names of kinds, which a person sees by what is drawn.
KNOWN = [*KINDS, "image", "line", "bar", "long", "number", "boolean"]
_BLANKS = re.compile(r"\s+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d\d\d)")
_VOID = {"br", "hr", "img", "input", "path"}


def missing_leaves(value: Any, page: str) -> list[str]:
    """Returns the texts of these details that the visible text of a page does not have."""
    text = _plain(page)
    return [leaf for leaf in leaves(value) if not any(_plain(way) in text for way in _ways(leaf))]


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
    """Yields how a page may write it: as it is, as a time, as words, or in the JSON of a
    comparison."""
    yield reveal(leaf)
    yield reveal(json.dumps(leaf, ensure_ascii=False)[1:-1])
    if at := moment(leaf):
        yield at
    yield words(leaf)


def _plain(text: str) -> str:
    return _THOUSANDS.sub("", _BLANKS.sub("", text))


def visible_text(html: str) -> str:
    """Returns what a page shows of its HTML: no attributes, no drawings, and nothing that is inside
    a closed fold or only for screen readers."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return "".join(reader.texts)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.hidden: list[bool] = [False]  # for each element that is open

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
