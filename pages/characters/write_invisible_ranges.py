"""Writes `invisible_ranges.py`, the table of characters that people cannot see or that stack. The
script writes one copy for the pages and one for the client, because the client imports nothing of
the server.

Run it from the root of the repository: `python -m pages.characters.write_invisible_ranges`. General
categories come from Python's own Unicode data. The other facts below come from Unicode 17.0. A test
compares these facts with the `regex` package, which knows the properties.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

TABLE = Path(__file__).with_name("invisible_ranges.py")
TABLE_OF_CLIENT = Path(__file__).parents[2] / "client" / "wake_client" / TABLE.name
UNICODE = "17.0"
HIDDEN_CATEGORIES = {"Cc", "Cf", "Zl", "Zp"}
WIDTH = 90
SPACE, TAB, LINE_FEED, CARRIAGE_RETURN = 0x20, 0x09, 0x0A, 0x0D

# DerivedCoreProperties.txt, Default_Ignorable_Code_Point, including characters of later versions.
DEFAULT_IGNORABLE = (
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5)),
    *((0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8)),
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
# Format characters (Cf) that Python 3.11 does not know yet.
LATER_FORMATS = ((0x13439, 0x1343F),)
# PropList.txt, Prepended_Concatenation_Mark: format characters that fonts draw, such as U+06DD.
DRAWN_FORMATS = (
    *((0x0600, 0x0605), (0x06DD, 0x06DD), (0x070F, 0x070F), (0x0890, 0x0891), (0x08E2, 0x08E2)),
    *((0x110BD, 0x110BD), (0x110CD, 0x110CD)),
)
# Letters, marks and symbols with a blank picture: of Braille, hieroglyphs, Khitan and music. The
# placeholder of a missing object is one of them, too.
BLANK_PICTURES = (
    *((0x2800, 0x2800), (0xFFFC, 0xFFFC), (0x13441, 0x13442), (0x16FE4, 0x16FE4)),
    (0x1D159, 0x1D159),
)
# PropList.txt, Noncharacter_Code_Point: texts never have them, and no font draws them.
NONCHARACTERS = (
    (0xFDD0, 0xFDEF),
    *((plane + 0xFFFE, plane + 0xFFFF) for plane in range(0, 0x110000, 0x10000)),
)

Ranges = Iterable[tuple[int, int]]


def hidden() -> set[int]:
    """Returns the characters that a page always shows by their names."""
    by_category = {
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in HIDDEN_CATEGORIES
    }
    others = chain(DEFAULT_IGNORABLE, LATER_FORMATS, BLANK_PICTURES, NONCHARACTERS)
    shown = _codes(DRAWN_FORMATS) | {TAB, LINE_FEED, CARRIAGE_RETURN}
    return (by_category | _codes(others)) - shown


def blanks() -> set[int]:
    """Returns the blanks that look like a space but are not one."""
    spaces = {code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) == "Zs"}
    return spaces - {SPACE}


def marks() -> set[int]:
    """Returns the marks that fonts draw above, below or through the preceding letter."""
    drawn = {
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in {"Mn", "Me"}
    }
    return drawn - hidden()


def table() -> str:
    """Returns the text of the module."""
    return (
        f'"""Lists characters that people cannot see, and marks, for `re` (Unicode {UNICODE}).\n'
        "\n"
        "`python -m pages.characters.write_invisible_ranges` writes this module.\n"
        f'"""\n\n{_assigned("HIDDEN", hidden())}{_assigned("BLANKS", blanks())}'
        f"{_assigned('MARKS', marks())}"
    )


def _codes(ranges: Ranges) -> set[int]:
    return {code for first, last in ranges for code in range(first, last + 1)}


def _assigned(name: str, codes: set[int]) -> str:
    starts = sorted(code for code in codes if code - 1 not in codes)
    ends = sorted(code for code in codes if code + 1 not in codes)
    ranges = [
        f"{_escaped(first)}-{_escaped(last)}" if last > first else _escaped(first)
        for first, last in zip(starts, ends, strict=True)
    ]
    rows = [f'"{row}"' for row in _rows(ranges)]
    if len(rows) == 1:
        return f"{name} = {rows[0]}\n"
    return "\n    ".join([f"{name} = (", *rows]) + "\n)\n"


def _rows(ranges: list[str]) -> Iterator[str]:
    row = ""
    for one in ranges:
        if len(row + one) > WIDTH:
            yield row
            row = ""
        row += one
    yield row


def _escaped(code: int) -> str:
    return f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"


if __name__ == "__main__":
    for path in (TABLE, TABLE_OF_CLIENT):
        path.write_text(table())
