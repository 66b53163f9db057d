"""Collects the parts that a rendering does not show, so that the page can name them."""

from __future__ import annotations

from collections import Counter

IN_RAW = "in the raw view"
MAX_NAMED = 12


class LeftOut:
    """Counts equal parts together, and names the others one by one."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._named: dict[str, None] = {}
        self._files: dict[str, None] = {}

    def count(self, number: int, noun: str, *, where: str = IN_RAW) -> None:
        """Adds this many parts. The plural of the noun has an "s"."""
        if number > 0:
            self._counts[noun, where] += number

    def name(self, phrase: str) -> None:
        self._named[phrase] = None

    def file(self, phrase: str) -> None:
        """Adds a file or a picture, whose content is not a text of the details."""
        self._files[phrase] = None

    @property
    def has_text(self) -> bool:
        """Returns whether text of the details is left out, and not only files."""
        return bool(self._counts or self._named)

    @property
    def phrases(self) -> tuple[str, ...]:
        """Returns a phrase for each kind of part, such as `14 rows of a table, in the raw view`."""
        counted = [
            f"{number:,} {noun if number == 1 else plural(noun)}, {where}"
            for (noun, where), number in self._counts.items()
        ]
        files = list(self._files)
        if len(files) > MAX_NAMED:
            files = [*files[:MAX_NAMED], f"{len(files) - MAX_NAMED:,} more files and pictures"]
        return (*counted, *self._named, *files)


def plural(noun: str) -> str:
    """Returns `rows of a table` for `row of a table`."""
    first, space, rest = noun.partition(" ")
    return f"{first}s{space}{rest}"
