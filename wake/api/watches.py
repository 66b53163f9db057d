"""Watches for changes, once for all streams of this process.

A waiting stream makes no queries. Each notification of the database (database/notifications.py)
names a changed key, and one query then reads all of these keys. From time to time it reads the
other keys, too, because a notification may be lost.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar
from weakref import WeakKeyDictionary

from database import notifications, outages
from wake.api.event_streams import in_thread

log = logging.getLogger(__name__)


class Follower(Protocol):
    """Describes a stream that waits for changes of its `keys`. `notify` takes the results of a
    query."""

    @property
    def keys(self) -> Collection[Any]: ...

    def notify(self, found: Any) -> None: ...


Key = TypeVar("Key", bound=Hashable)
F = TypeVar("F", bound=Follower)


class Watch(Generic[Key, F]):
    """Watches the keys of all followers of one event loop."""

    # Notifications within this time are handled together: With SQLite a process knows only that the
    # file has changed, so every stream looks again.
    TOGETHER_SECONDS = 0.02
    # A notification of this topic concerns every stream.
    COMMON_TOPIC: ClassVar[str | None] = None
    _of_loops: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, Any]]

    def __init_subclass__(cls) -> None:
        cls._of_loops = WeakKeyDictionary()

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._followers: defaultdict[Key, set[F]] = defaultdict(set)
        self._woken = asyncio.Event()
        self._lock = threading.Lock()
        self._changed: set[Key] = set()
        self._is_called = self._all_changed = False
        self._task: asyncio.Task[None] | None = None

    @classmethod
    def here(cls) -> Self:
        """Returns the watch of the running event loop."""
        loop = asyncio.get_running_loop()
        if loop not in cls._of_loops:
            cls._of_loops[loop] = cls(loop)
        watch: Self = cls._of_loops[loop]
        return watch

    def topic_of(self, key: Key) -> str:
        """Returns the topic of the notifications about a key."""
        raise NotImplementedError

    def read(self, keys: set[Key], followers: set[F]) -> Any:
        """Reads the changes of these keys from the database, in a thread."""
        raise NotImplementedError

    def pause_seconds(self) -> float:
        """Returns after how many seconds the keys are read again even without a notification."""
        return notifications.pause_seconds()

    @contextmanager
    def follow(self, follower: F) -> Iterator[None]:
        """Notifies the follower of changes of its keys, including changes before this call."""
        keys = list(follower.keys)
        for key in keys:
            self._followers[key].add(follower)
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._watch())
        try:
            with ExitStack() as listening:
                for key in keys:
                    wake = partial(self._call, key)
                    listening.enter_context(notifications.listening(self.topic_of(key), wake))
                    wake()
                yield
        finally:
            for key in keys:
                self._followers[key].discard(follower)
                if not self._followers[key]:
                    del self._followers[key]
            if not self._followers:
                self._woken.set()

    def _call(self, key: Key | None = None) -> None:
        """Marks a key as changed. If no key is given, marks all keys as changed. May be called from
        any thread."""
        with self._lock:
            if key is None:
                self._all_changed = True
            else:
                self._changed.add(key)
            is_called, self._is_called = self._is_called, True
        if not is_called:
            with suppress(RuntimeError):  # the loop is closed: the server ends
                self._loop.call_soon_threadsafe(self._woken.set)

    async def _watch(self) -> None:
        with ExitStack() as listening:
            if self.COMMON_TOPIC:
                listening.enter_context(notifications.listening(self.COMMON_TOPIC, self._call))
            looked_at_all = self._loop.time()
            while self._followers:
                due = looked_at_all + self.pause_seconds()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), max(0, due - self._loop.time()))
                    await asyncio.sleep(self.TOGETHER_SECONDS)
                keys = self._take_changed()
                # All keys are also read again while notifications keep coming, because a
                # notification for another key may have been lost.
                if self._loop.time() >= due:
                    keys, looked_at_all = set(self._followers), self._loop.time()
                await self._look(keys)

    def _take_changed(self) -> set[Key]:
        self._woken.clear()
        followed = set(self._followers)
        with self._lock:
            changed, all_changed = self._changed, self._all_changed
            self._changed, self._is_called, self._all_changed = set(), False, False
        return followed if all_changed else followed & changed

    async def _look(self, keys: set[Key]) -> None:
        followers = {each for key in keys for each in self._followers.get(key, ())}
        if not followers:
            return
        try:
            found = await in_thread(partial(self.read, keys, followers))
        except Exception as error:
            # An error must not end the task, or no stream of this process would hear of a change
            # again. The next look reads all keys.
            with self._lock:
                self._all_changed = True
            if outages.will_pass(error):
                log.warning("The database failed: %s", error)
            else:
                log.exception("The rows of a stream could not be read")
            return
        for follower in followers:
            follower.notify(found)
