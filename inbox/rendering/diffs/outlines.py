"""Writes JSON as an outline of names and values, in which people can see the changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from inbox.rendering.json_text import as_typed, read
from inbox.rendering.shapes import words

WORDS = {True: "yes", False: "no", None: "none"}


def sides(before: str | None, after: str | None) -> tuple[str, str]:
    """Returns two JSON documents as texts to compare. The texts are outlines, or JSON if outlines
    would hide a difference, such as between `"1"` and `1`."""
    outlines = outline(before), outline(after)
    typed = as_typed(before), as_typed(after)
    return outlines if (outlines[0] == outlines[1]) == (typed[0] == typed[1]) else typed


def outline(content: str | None) -> str:
    """Returns a text unchanged, and an object as lines such as `Customer: R. Okafor`."""
    value = read(content) if content else ""
    return value if isinstance(value, str) else "\n".join(_lines(value, ""))


def _lines(value: dict[str, Any] | list[Any], margin: str) -> Iterator[str]:
    members = value.items() if isinstance(value, dict) else enumerate(value, 1)
    for name, child in members:
        label = f"{margin}{words(str(name))}:" if isinstance(value, dict) else f"{margin}{name}."
        if isinstance(child, dict | list) and child:
            yield label
            yield from _lines(child, f"{margin}  ")
        else:
            first, *rest = _scalar(child).split("\n")
            yield f"{label} {first}"
            yield from (f"{margin}  {line}" for line in rest)


def _scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return WORDS[value]
    return "empty" if isinstance(value, dict | list) else str(value)
