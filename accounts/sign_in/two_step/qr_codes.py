"""Draws a QR code as the path of an SVG, which needs no script, style or image."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import segno

QUIET = 4  # the width of the light border, in modules (ISO/IEC 18004)


@dataclass(frozen=True, slots=True)
class QrCode:
    """Holds a QR code as a path. `size` is the side of the view box; one unit is a module."""

    size: int
    path: str


def qr_code(text: str) -> QrCode:
    rows = segno.make(text, error="m", micro=False).matrix
    return QrCode(len(rows) + 2 * QUIET, "".join(map(_row, range(len(rows)), rows)))


def _row(number: int, modules: bytearray) -> str:
    """Draws each run of dark modules as one box."""
    boxes, column = [], QUIET
    for is_dark, run in groupby(modules):
        width = len(list(run))
        if is_dark:
            boxes.append(f"M{column} {number + QUIET}h{width}v1h-{width}z")
        column += width
    return "".join(boxes)
