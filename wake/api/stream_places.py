"""Counts the open streams of this process by whose they are."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable


class Places:
    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, owner: str, check: Callable[[Counter[str]], None]) -> Place:
        """Takes a place, unless `check` raises for the places that are taken."""
        with self._lock:
            check(self.taken)
            self.taken[owner] += 1
        return Place(self, owner)

    def give_back(self, owner: str) -> None:
        with self._lock:
            self.taken[owner] -= 1
            if not self.taken[owner]:
                del self.taken[owner]


class Place:
    """The place of one stream. Giving it back twice changes nothing."""

    def __init__(self, places: Places, owner: str) -> None:
        self._places = places
        self._owner: str | None = owner
        self._lock = threading.Lock()

    def give_back(self) -> None:
        with self._lock:
            owner, self._owner = self._owner, None
        if owner is not None:
            self._places.give_back(owner)
