"""Gives each sender a short mark and a colour, so that a list can be scanned by sender."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

COLOURS = 8  # .monogram--0 to .monogram--7 in static/css/components.css
WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Monogram:
    text: str
    colour: int


def monogram(name: str) -> Monogram:
    """Returns `RA` for `research-agent-01`. The colour depends on the name alone."""
    words = [word for word in WORD.findall(name) if not word.isdigit()] or WORD.findall(name)
    first, *others = words or ["?"]
    text = f"{first[0]}{others[0][0]}" if others else first[:2]
    return Monogram(text.upper(), zlib.crc32(name.encode()) % COLOURS)
