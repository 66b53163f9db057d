"""Counts the open streams of each owner in this process, and the bytes that wait to be sent."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from django.dispatch import Signal

streams_changed = Signal()  # kind, and change: 1 for a stream that opens, -1 for one that closes


class Places:
    """Counts the streams of one kind, which metrics name. All streams of one owner together may
    hold `unsent_at_most` bytes that wait to be sent."""

    def __init__(self, kind: str, unsent_at_most: int = 0) -> None:
        self.kind = kind
        self.taken: Counter[str] = Counter()
        self.unsent: Counter[str] = Counter()
        self.unsent_at_most = unsent_at_most
        self._lock = threading.Lock()

    def take(self, owner: str, check: Callable[[Counter[str]], None]) -> StreamPlace:
        """Takes a place, unless `check` raises. `check` gets the number of taken places by
        owner."""
        with self._lock:
            check(self.taken)
            self.taken[owner] += 1
        streams_changed.send(sender=Places, kind=self.kind, change=1)
        return StreamPlace(self, owner)

    def give_back(self, owner: str) -> None:
        with self._lock:
            self.taken[owner] -= 1
            if not self.taken[owner]:
                del self.taken[owner]
        streams_changed.send(sender=Places, kind=self.kind, change=-1)

    def reserve(self, owner: str, size: int, *, always: bool) -> bool:
        """Reserves bytes that wait to be sent. Returns False, and reserves nothing, if the owner's
        streams would hold too many together."""
        with self._lock:
            before = self.unsent[owner]
            has_room = always or not before or before + size <= self.unsent_at_most
            if has_room:
                self.unsent[owner] += size
            if not self.unsent[owner]:
                del self.unsent[owner]
        return has_room


class StreamPlace:
    """Represents one open stream. Giving it back twice changes nothing."""

    def __init__(self, places: Places, owner: str) -> None:
        self._places = places
        self._owner: str | None = owner
        self._reserved = 0
        self._lock = threading.Lock()

    def reserve(self, size: int, *, always: bool = False) -> bool:
        """Reserves bytes that wait to be sent; returns False if the owner of the place would have
        too many."""
        with self._lock:
            if self._owner is None:
                return True
            has_room = self._places.reserve(self._owner, size, always=always)
            self._reserved += size if has_room else 0
            return has_room

    def free(self) -> None:
        """Frees the reserved bytes, once they were sent or the stream has ended."""
        with self._lock:
            if self._owner is not None:
                self._places.reserve(self._owner, -self._reserved, always=True)
                self._reserved = 0

    def give_back(self) -> None:
        self.free()
        with self._lock:
            owner, self._owner = self._owner, None
        if owner is not None:
            self._places.give_back(owner)
