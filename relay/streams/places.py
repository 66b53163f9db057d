"""Counts the open streams of this process. There is a limit for each caller, and one for all."""

from __future__ import annotations

from collections import Counter

from django.conf import settings

from relay.models import CallerKey
from wake.api.stream_places import Places, StreamPlace

RETRY_AFTER = 30  # seconds until a refused client asks again

# Maximum unread bytes across a caller's streams. A first event may have 30 MB, and a client that
# does not read is only disconnected after a minute.
MAX_UNSENT = 64 * 2**20

places = Places("a2a", MAX_UNSENT)
# Anonymous callers together may have one in this many of a process's streams.
_ANONYMOUS_SHARE = 2


UNREAD = "that this caller does not read"


class TooManyStreams(Exception):
    """Too many streams are open; `retry_after` is in seconds."""

    def __init__(self, whose: str) -> None:
        super().__init__(
            f"Too many streams are open {whose}. Close one or try again later; until then ask with "
            "GetTask (0.3: tasks/get), or let the agent push."
        )
        self.retry_after = RETRY_AFTER


def take(caller: CallerKey | None, network: str) -> StreamPlace:
    """Takes a place for a caller's key, or for the network of an anonymous caller; raises
    TooManyStreams."""
    owner = str(caller.pk) if caller else f"network {network}"
    most = settings.WAKE_MAX_STREAMS

    def check(taken: Counter[str]) -> None:
        if places.unsent[owner] > places.unsent_at_most:
            raise TooManyStreams(UNREAD)
        if taken[owner] >= settings.WAKE_MAX_STREAMS_OF_A_CALLER:
            raise TooManyStreams("for this caller")
        if taken.total() >= most:
            raise TooManyStreams("on this server")
        if caller is None and _of_anonymous(taken) >= most // _ANONYMOUS_SHARE:
            raise TooManyStreams("for callers without a key")

    return places.take(owner, check)


def _of_anonymous(taken: Counter[str]) -> int:
    return sum(count for owner, count in taken.items() if owner.startswith("network "))
