"""Sends one task to one caller: first the present task, then each of its events once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.db import DatabaseError

from database import outages
from database.encryption import Unreadable
from relay.protocol import jsonrpc, stream_events
from relay.protocol.dialects import Json
from relay.protocol.versions import Version
from relay.streams import reading
from relay.streams.following import TaskFollower, watch
from relay.streams.reading import NextEvents
from relay.tasks.transitions import TaskNotFound
from wake.api.event_streams import HEARTBEAT, HEARTBEAT_SECONDS, in_thread
from wake.api.stream_places import StreamPlace

log = logging.getLogger(__name__)

OUTAGE_SECONDS = 2.0
UNREAD_SECONDS = 1.0
# An agent may answer with a message instead of a task. A stream that began with the task cannot
# switch to a message. So the stream of a new run sends its task only after this time, or earlier if
# the task changes.
HELD_SECONDS = 1.0


@dataclass(slots=True)
class TaskStream:
    """Streams the events after the generation `seen`, and begins with the chunk `first`.

    The stream is over after an event with a state in `ends`. `write_error` turns an exception into
    JSON-RPC.
    """

    task_id: UUID
    seen: int
    version: Version
    request: jsonrpc.Id
    ends: frozenset[str]
    place: StreamPlace
    write_error: Callable[[Exception], Json]
    first: bytes = b""
    is_held: bool = False
    is_over: bool = False

    def close(self) -> None:
        self.place.give_back()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        first, self.first = self.first, b""
        if first and not self.is_held:
            yield first
            self.place.free()
        if self.is_over:
            return
        follower = TaskFollower(self.task_id, self.seen)
        with watch().follow(follower):
            if self.is_held:
                message = await self._hold(follower)
                if follower.is_admitted:
                    yield message or first
                self.place.free()
                if message and follower.is_admitted:
                    return
            async for chunk in self._events(follower):
                yield chunk

    async def _hold(self, follower: TaskFollower) -> bytes:
        """Waits for news of the task. If the task's only answer is a message, returns that message.
        The next step reports failures and lost access."""
        message = b""
        with suppress(TimeoutError, DatabaseError, Unreadable):
            async with asyncio.timeout(HELD_SECONDS):
                is_news = False
                while follower.is_admitted and not is_news:
                    await follower.woken.wait()
                    follower.woken.clear()
                    if follower.is_admitted:
                        batch = await in_thread(partial(self._read, follower.seen))
                        message, is_news = batch.direct, batch.is_news
        follower.woken.set()
        return message

    async def _events(self, follower: TaskFollower) -> AsyncGenerator[bytes, None]:
        while True:
            try:
                await asyncio.wait_for(follower.woken.wait(), HEARTBEAT_SECONDS)
            except TimeoutError:
                yield HEARTBEAT
                continue
            follower.woken.clear()
            if not follower.is_admitted:
                yield self._error(TaskNotFound(TaskNotFound.__doc__))
                return
            try:
                batch = await in_thread(partial(self._read, follower.seen))
            except Exception as error:
                if not outages.will_pass(error):
                    yield self._error(error)
                    return
                log.warning("The database failed: %s", error)
                await asyncio.sleep(OUTAGE_SECONDS)
                yield HEARTBEAT
                follower.woken.set()
                continue
            if not self.place.reserve(sum(map(len, batch.chunks))):
                # The caller does not read its other streams. Those streams are disconnected within
                # a minute.
                await asyncio.sleep(UNREAD_SECONDS)
                yield HEARTBEAT
                follower.woken.set()
                continue
            for chunk in batch.chunks:
                yield chunk
            self.place.free()
            follower.seen = batch.seen
            if batch.is_over:
                return
            if batch.has_more:
                follower.woken.set()

    def _read(self, seen: int) -> NextEvents:
        return reading.events_after(self.task_id, seen, self.version, self.request, ends=self.ends)

    def _error(self, error: Exception) -> bytes:
        return stream_events.write(self.write_error(error))
