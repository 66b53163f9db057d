"""Reads and writes JSON in the agent's own key order and spelling of numbers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import msgspec

# In characters: 200 kB of values in sixty nested lists become 13 MB if each has its own line.
LONGEST_INDENTED = 600_000

_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\."
)


@dataclass(frozen=True, slots=True)
class Number:
    """Holds a number as it was sent, because a float would lose digits of 0.10 and
    12345678901234567890. A Number never equals a text, and 1 differs from 1.0."""

    text: str

    def __str__(self) -> str:
        return self.text


def read(text: str) -> Any:
    """Returns the value, with every number as a Number."""
    return json.loads(text, parse_int=Number, parse_float=Number)


def readable(text: str) -> str:
    """Returns the same JSON with one member on each line, and needless escapes as letters."""
    return _ESCAPE.sub(_letter, indented(text))


def indented(text: str) -> str:
    """Returns the same JSON with one member on each line, and each token exactly as it was sent. If
    the result would be too long, returns the JSON on one line."""
    lines: str = msgspec.json.format(text, indent=2)
    return lines if len(lines) <= LONGEST_INDENTED else msgspec.json.format(text, indent=0)


def written(value: Any, margin: str = "") -> str:
    """Returns a value from `read` as JSON, in the layout of `indented`."""
    if isinstance(value, Number):
        return value.text
    if not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = f"{margin}  "
    if isinstance(value, dict):
        begins, ends = "{", "}"
        members = [
            f"{json.dumps(name, ensure_ascii=False)}: {written(child, inner)}"
            for name, child in value.items()
        ]
    else:
        begins, ends = "[", "]"
        members = [written(child, inner) for child in value]
    lines = ",\n".join(f"{inner}{member}" for member in members)
    return f"{begins}\n{lines}\n{margin}{ends}"


def _letter(escape: re.Match[str]) -> str:
    """Returns the character of an escape. An invisible character stays an escape."""
    if not escape[0].startswith("\\u"):
        return escape[0]
    letter: str = json.loads(f'"{escape[0]}"')
    return letter if not letter.isascii() and letter.isprintable() else escape[0]


def as_typed(content: str | None) -> str:
    """Returns the initial text of the text area."""
    if content is None:
        return ""
    value = json.loads(content)
    return value if isinstance(value, str) else readable(content)
