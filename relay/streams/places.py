"""Counts the open streams of this process: each caller, and all together, may have so many."""

from __future__ import annotations

import threading
from collections import Counter

from django.conf import settings

from relay.models import CallerKey

RETRY_AFTER = 30  # seconds

_lock = threading.Lock()
_open: Counter[str] = Counter()
# The part of a process that streams of anonymous callers may fill together.
_ANONYMOUS_SHARE = 2


class TooManyStreams(Exception):
    """Too many streams are open; `retry_after` is in seconds."""

    def __init__(self, whose: str) -> None:
        super().__init__(
            f"Too many streams are open {whose}. Close one or try again later; until then ask with "
            "GetTask (0.3: tasks/get), or let the agent push."
        )
        self.retry_after = RETRY_AFTER


class Place:
    """The place of one stream. Giving it back twice changes nothing."""

    def __init__(self, owner: str) -> None:
        self._owner: str | None = owner

    def give_back(self) -> None:
        with _lock:
            owner, self._owner = self._owner, None
            if owner is not None:
                _open[owner] -= 1
                if not _open[owner]:
                    del _open[owner]


def take(caller: CallerKey | None, network: str) -> Place:
    """Takes a place for a caller's key, or for the network of an anonymous caller; raises
    TooManyStreams."""
    owner = str(caller.pk) if caller else f"network {network}"
    most = settings.WAKE_MAX_STREAMS
    with _lock:
        if _open[owner] >= settings.WAKE_MAX_STREAMS_OF_A_CALLER:
            raise TooManyStreams("for this caller")
        if _open.total() >= most:
            raise TooManyStreams("on this server")
        if caller is None and _of_anonymous() >= most // _ANONYMOUS_SHARE:
            raise TooManyStreams("for callers without a key")
        _open[owner] += 1
    return Place(owner)


def _of_anonymous() -> int:
    return sum(count for owner, count in _open.items() if owner.startswith("network "))
