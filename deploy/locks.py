"""Lets pip 23.2, which comes with Python 3.11, install packages from the lock files.

uv writes one line for a package, `pydantic[email]==2.14.4`, even if other packages ask for it
without the extra. pip 23.2 then finds no line with a hash for these packages, and refuses to
install. So the line is repeated without the extra.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ASKED_FOR_IN_BOTH_WAYS = ("pydantic",)


def repeated(lock: str) -> str:
    """Returns the lock file with the lines of these packages also without the extra."""
    for name in ASKED_FOR_IN_BOTH_WAYS:
        version = r"==(?:.*\\\n)*.*\n"
        lines = rf"^(?:{name}{version})?{name}(\[[^\]]+\])({version})"
        lock = re.sub(lines, rf"{name}\2{name}\1\2", lock, flags=re.MULTILINE)
    return lock


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(repeated(path.read_text()))
