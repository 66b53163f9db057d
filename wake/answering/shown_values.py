"""Says whether a value that a rule reads is what a person would read on the page of the delivery.

A rule approves by one value. The page must show all text of the details, and no other value under
the same name: an agent that sends `"amount": 10` beside a block that says "Amount: 90,000" asks a
person, not a rule (docs/teams.md, Answering rules).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from pages.characters.look_alikes import look
from wake.assignment.details import Details, blocks_in, names_in

LONGEST_LOOKED_AT = 200
FIELD = "field"
# Of a block: the page shows what these say, and not their names.
OWN_NAMES = {
    *("type", "text", "title", "language", "before", "after", "columns", "rows", "items", "value"),
    *("url", "label", "options", "name", "kind", "multiple", "labels", "series", "unit", "alt"),
    *("caption", "blob", "data"),
}

Path = tuple[str, ...]
ShowsAllText = Callable[[str], bool]

_registered: list[ShowsAllText] = []


def register(shows_all_text: ShowsAllText) -> None:
    """Adds what says whether the page shows all text of some details, given as JSON. The app that
    has the page calls this once, when it is ready."""
    _registered[:] = [shows_all_text]


def is_shown(pointer: str, details: Details) -> bool:
    """Returns whether a rule may approve by the value there, which must exist."""
    value, document = details.value(pointer), details.document
    names = names_in(pointer)
    if blocks_in(document) is not None and names[:1] in (["blocks"], ["wake_blocks"]):
        return False  # the agent chooses which block is the first one
    path = tuple(map(_look, names))
    others = (other for where, other in _places(document) if where == path)
    text = details.text
    is_only_one = all(type(other) is type(value) and other == value for other in others)
    return is_only_one and text is not None and any(shows(text) for shows in _registered)


def _places(document: Any) -> Iterator[tuple[Path, Any]]:
    """Yields each value with the names under which the page shows it."""
    blocks = blocks_in(document)
    if blocks is None:
        yield from _inside(document, ())
        return
    beside = {name: one for name, one in document.items() if name not in {"wake_blocks", "blocks"}}
    yield from _inside(beside, ())
    for block in blocks:
        if isinstance(block, dict):
            yield from _of_block(block)


def _of_block(block: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    yield from _inside({name: one for name, one in block.items() if name not in OWN_NAMES}, ())
    for name in ("items", "value"):
        if isinstance(inner := block.get(name), dict):
            yield from _inside(inner, ())
    if block.get("type") == FIELD:
        labels = {one for one in (block.get("name"), block.get("label")) if isinstance(one, str)}
        yield from (((_look(label),), block.get("value")) for label in labels)
    match block:
        case {"columns": list(columns), "rows": list(rows)}:
            yield from _of_table(columns, [row for row in rows if isinstance(row, list)])


def _of_table(columns: list[Any], rows: list[list[Any]]) -> Iterator[tuple[Path, Any]]:
    """Yields the cells under the name of their column, and those of a table of names and values."""
    for row in rows:
        for column, cell in zip(columns, row, strict=False):
            if isinstance(column, str):
                yield (_look(column),), cell
        match row:
            case [str(name), cell]:
                yield (_look(name),), cell


def _inside(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if path:
        yield path, value
    if isinstance(value, dict):
        for name, child in value.items():
            yield from _inside(child, (*path, _look(name)))
    elif isinstance(value, list):
        for place, child in enumerate(value):
            yield from _inside(child, (*path, str(place)))


@lru_cache(maxsize=4096)
def _look(name: str) -> str:
    """Returns the same for names that look the same on the page, where `amount_due` is written as
    `Amount due`."""
    seen = look(name) if len(name) <= LONGEST_LOOKED_AT else name
    return " ".join(seen.casefold().replace("_", " ").replace("-", " ").split())
