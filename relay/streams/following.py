"""Notices that tasks have new events, for all streams of this process together.

A stream that waits asks the database nothing. The notifications of the database
(database/notifications.py) name the tasks that changed, and one statement then asks for all of
them; every few seconds it asks for the others, too.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import UUID
from weakref import WeakKeyDictionary

from database import notifications, outages
from database.clock import database_now
from database.uuids import NIL
from relay.cards.topics import ACCESS_TOPIC
from relay.streams import reading
from relay.streams.threads import in_thread
from relay.tasks.transitions import topic_of

log = logging.getLogger(__name__)

# Notifications that come within this time are looked after together: SQLite says only that its file
# has changed, which then concerns every stream.
TOGETHER_SECONDS = 0.02
EVERY_TASK = NIL


class Follower:
    """A stream that waits for events of one task after the generation `seen`."""

    def __init__(self, task_id: UUID, seen: int) -> None:
        self.task_id = task_id
        self.seen = seen
        self.is_admitted = True
        self.woken = asyncio.Event()

    def note(self, generation: int | None) -> None:
        """Takes the newest generation of the task; None if its caller may not ask any more."""
        self.is_admitted = generation is not None
        if generation is None or generation > self.seen:
            self.woken.set()


class Watch:
    """Looks after all followers of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._followers: defaultdict[UUID, set[Follower]] = defaultdict(set)
        self._woken = asyncio.Event()
        self._lock = threading.Lock()
        self._changed: set[UUID] = set()
        self._is_called = False
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def follow(self, follower: Follower) -> Iterator[None]:
        """Wakes the follower when its task has new events, those before this call included."""
        task_id = follower.task_id

        def wake() -> None:
            self._call(task_id)

        self._followers[task_id].add(follower)
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._look_on())
        try:
            with notifications.listening(topic_of(task_id), wake):
                wake()
                yield
        finally:
            self._followers[task_id].discard(follower)
            if not self._followers[task_id]:
                del self._followers[task_id]
            if not self._followers:
                self._woken.set()

    def _call(self, task_id: UUID) -> None:
        """Notes that this task has changed, from any thread."""
        with self._lock:
            self._changed.add(task_id)
            is_called, self._is_called = self._is_called, True
        if not is_called:
            with suppress(RuntimeError):  # the loop is closed: the server ends
                self._loop.call_soon_threadsafe(self._woken.set)

    async def _look_on(self) -> None:
        with notifications.listening(ACCESS_TOPIC, lambda: self._call(EVERY_TASK)):
            while self._followers:
                try:
                    await asyncio.wait_for(self._woken.wait(), notifications.pause_seconds())
                    await asyncio.sleep(TOGETHER_SECONDS)
                    task_ids = self._take_changed()
                except TimeoutError:
                    task_ids = {EVERY_TASK}
                followed = set(self._followers)
                await self._look(followed if EVERY_TASK in task_ids else followed & task_ids)

    def _take_changed(self) -> set[UUID]:
        self._woken.clear()
        with self._lock:
            changed, self._changed, self._is_called = self._changed, set(), False
        return changed

    async def _look(self, task_ids: set[UUID]) -> None:
        try:
            newest = await in_thread(lambda: reading.generations(task_ids, at=database_now()))
        except Exception as error:
            # Or no stream of this process would hear anything again. The next look asks for all.
            if outages.will_pass(error):
                log.warning("The database failed: %s", error)
            else:
                log.exception("Tasks that are streamed could not be looked at")
            return
        for task_id in task_ids:
            for follower in self._followers.get(task_id, ()):
                follower.note(newest.get(task_id))


_watches: WeakKeyDictionary[asyncio.AbstractEventLoop, Watch] = WeakKeyDictionary()


def watch() -> Watch:
    """Returns the watch of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _watches:
        _watches[loop] = Watch(loop)
    return _watches[loop]
