"""Tells one page that something happened, and no more: the page then asks for what it shows."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from django.conf import settings

from inbox.list.live.changes import Follower, InboxWatch
from wake.api.event_streams import HEARTBEAT, HEARTBEAT_SECONDS
from wake.api.stream_places import Place, Places

# A browser opens six connections to one server at most.
MOST_OF_A_PERSON = 6
BEGINNING = b"retry: 5000\n\n"
CHANGED = b"data: changed\n\n"

places = Places()


class TooManyStreams(Exception):
    """This person, or this server, has too many open streams."""


@dataclass(slots=True)
class ChangesStream:
    follower: Follower
    place: Place

    def close(self) -> None:
        self.place.give_back()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Ends when the session has ended, or the person may see none of the teams any more."""
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


def take_place(user_id: int) -> Place:
    """Raises TooManyStreams."""
    owner = str(user_id)

    def check(taken: Counter[str]) -> None:
        if taken[owner] >= MOST_OF_A_PERSON or taken.total() >= settings.WAKE_MAX_INBOX_STREAMS:
            raise TooManyStreams(TooManyStreams.__doc__)

    return places.take(owner, check)
