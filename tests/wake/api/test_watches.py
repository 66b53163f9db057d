"""A watch looks after all of its streams, also while it is notified all the time."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import async_to_sync

from database import notifications
from wake.api.watches import Watch

pytestmark = pytest.mark.django_db(transaction=True)


class Stream:
    def __init__(self, key: str) -> None:
        self.keys = [key]
        self.looks = 0
        self.looked_twice = asyncio.Event()

    def notify(self, found: set[str]) -> None:
        self.looks += 1
        if self.looks > 1:
            self.looked_twice.set()


class BusyStream(Stream):
    """Sends the next notification as soon as the watch has looked after the stream."""

    def notify(self, found: set[str]) -> None:
        super().notify(found)
        notifications._wake([f"test:{self.keys[0]}"])


class QuickWatch(Watch[str, Stream]):
    TOGETHER_SECONDS = 0.001

    def topic_of(self, key: str) -> str:
        return f"test:{key}"

    def read(self, keys: set[str], followers: set[Stream]) -> set[str]:
        return keys

    def pause_seconds(self) -> float:
        return 0.05


def test_a_lost_notification_is_made_good_while_others_arrive() -> None:
    @async_to_sync
    async def story() -> Stream:
        busy, quiet = BusyStream("busy"), Stream("quiet")
        watch = QuickWatch.here()
        with watch.follow(quiet), watch.follow(busy):
            async with asyncio.timeout(5):
                await quiet.looked_twice.wait()
        return busy

    assert story().looks > 2
