"""Formats sizes for people."""

from __future__ import annotations

UNITS = ("kB", "MB", "GB", "TB")


def size(count: int) -> str:
    """Returns `120 bytes`, `1.5 MB` or `1 GB`. A kB is a thousand bytes, as on a disk. A limit in
    whole powers of 1,024, such as 1073741824, is written in its intended form: 1 GB."""
    if count < 1000:
        return f"{count} byte{'' if count == 1 else 's'}"
    power = min((len(str(count)) - 1) // 3, len(UNITS))
    whole, rest = divmod(count, 1024**power)
    number = f"{whole}" if whole and not rest else f"{count / 1000**power:.1f}"
    return f"{number.removesuffix('.0')} {UNITS[power - 1]}"
