"""Notifies one page that something happened. The page then requests its news."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from django.conf import settings

from inbox.list.live.changes import InboxWatch, PageFollower
from wake.api.event_streams import HEARTBEAT, HEARTBEAT_SECONDS
from wake.api.stream_places import Places, StreamPlace

# A browser opens at most six connections to one server.
MAX_OF_A_PERSON = 6
BEGINNING = b"retry: 5000\n\n"
CHANGED = b"data: changed\n\n"

places = Places("inbox")


class TooManyOpenPages(Exception):
    """This person, or this server, has too many open streams."""


@dataclass(slots=True)
class ChangesStream:
    follower: PageFollower
    place: StreamPlace

    def close(self) -> None:
        self.place.give_back()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yields the events of the stream until the session has ended, or until the person may no
        longer see any of the teams."""
        follower = self.follower
        with InboxWatch.here().follow(follower):
            yield BEGINNING
            while follower.is_admitted:
                try:
                    await asyncio.wait_for(follower.woken.wait(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield HEARTBEAT
                    continue
                follower.woken.clear()
                if follower.take_news():
                    yield CHANGED


def take_place(user_id: int) -> StreamPlace:
    """Counts an open page of a person until the caller leaves the place. Raises
    TooManyOpenPages."""
    owner = str(user_id)

    def check(taken: Counter[str]) -> None:
        if taken[owner] >= MAX_OF_A_PERSON or taken.total() >= settings.WAKE_MAX_INBOX_STREAMS:
            raise TooManyOpenPages(TooManyOpenPages.__doc__)

    return places.take(owner, check)
