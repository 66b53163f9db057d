"""Checks whether a value that a rule reads is the only one that the page shows under its name.

A rule approves by one value. The page must show all text of the details, and must show the name of
the value nowhere else. If an agent sends `"amount": 10` beside a text that says "Amount: 90,000", a
person decides, not a rule (docs/teams.md, Answering rules).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from pages.characters.look_alikes import label_look
from wake.assignment.details import Details, Missing, blocks_in, field_in, names_in, value_at

Path = tuple[str, ...]
ShowsAllText = Callable[[str], bool]

NO_LETTERS = re.compile(r"[\W_]+")
# Replaces letters that look the same by the same letter, also letters that were written as
# capitals.
ONE_FOR_OTHERS = str.maketrans({"i": "l", "m": "rn", "w": "vv"})

_shows_all_text: ShowsAllText | None = None


def register(shows_all_text: ShowsAllText) -> None:
    """Adds the function that returns whether the page shows all text of some details, given as
    JSON. The app that has the page calls this once, when it is ready."""
    global _shows_all_text
    _shows_all_text = shows_all_text


def is_shown(pointer: str, details: Details) -> bool:
    """Returns whether a rule may approve by the value at this pointer. The value must exist."""
    names, document, text = names_in(pointer), details.document, details.text
    if blocks_in(document) is not None and names[:1] in (["blocks"], ["wake_blocks"]):
        return False  # the agent chooses which block is the first one
    if names and _is_named_elsewhere(pointer, document, beside=details.texts_beside):
        return False
    return text is not None and _shows_all_text is not None and _shows_all_text(text)


def _is_named_elsewhere(pointer: str, document: Any, *, beside: list[str]) -> bool:
    """Returns whether the name of the value is also a name, or a word of a text, at another place
    of the page. A value without a name, as in a list, cannot be told from others."""
    places, name = _own_places(pointer, document)
    if (word := _word(name)) is None:
        return True
    texts = (text for place, text in _texts(document, ()) if place not in places)
    return any(word.search(_letters(text)) for text in (*beside, *texts))


def _own_places(pointer: str, document: Any) -> tuple[set[Path], str]:
    """Returns the places of the value and of its name, and the name."""
    path = tuple(names_in(pointer))
    try:
        value_at(pointer, document)
    except Missing:
        index, field = field_in(pointer, document)
        label, name = field.get("label"), path[-1]
        has_label = isinstance(label, str) and _letters(label) == _letters(name)
        members = ("name", "value", *(["label"] if has_label else []))
        return {("blocks", str(index), member) for member in members}, name
    value, named = document, 0
    for step, name in enumerate(path, start=1):
        if isinstance(value, dict):
            named, value = step, value[name]
        else:
            value = value[int(name)]
    return {path, path[:named]}, path[named - 1] if named else ""


def _texts(value: Any, place: Path) -> Iterator[tuple[Path, str]]:
    """Yields all names and all texts, each with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for name, child in value.items():
            yield (*place, name), name
            yield from _texts(child, (*place, name))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _texts(child, (*place, str(index)))


@lru_cache(maxsize=4096)  # rules use the same pointers again and again
def _word(name: str) -> re.Pattern[str] | None:
    """Returns a pattern that finds the name in letters, as a word or as the beginning of a word, or
    None for a name without letters."""
    letters = _letters(name).replace(" ", "")
    return re.compile(r"\b" + " ?".join(letters)) if letters else None


def _letters(text: str) -> str:
    """Returns equal words for texts that look the same. Case and separators do not count."""
    # A capital begins a word in `totalAmount`.
    apart = "".join(f" {letter}" if letter.isupper() else letter for letter in text)
    return NO_LETTERS.sub(" ", label_look(apart).translate(ONE_FOR_OTHERS)).strip()
