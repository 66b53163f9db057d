"""Wakes waiting threads of this process as soon as another process has committed a change for them.

On PostgreSQL, NOTIFY reaches every process. With SQLite, a process sees that the database's file
has changed. One thread of each process listens for all of its waiting requests. A notification may
be lost, because only rows are certain. So a waiting request or connector also looks at its rows
from time to time.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from django.db import DatabaseError, connection, transaction

log = logging.getLogger(__name__)

CHANNEL = "wake"
SQLITE_EVERY_SECONDS = 0.05
SOON_SECONDS = 0.1
TOPICS_AT_ONCE = 200  # a notification of PostgreSQL has at most 8,000 bytes
RECONNECT_SECONDS = 2.0
# Waiting threads also look this often, with and without notifications from other processes.
LOOK_EVERY_SECONDS, LOOK_OFTEN_SECONDS = 5.0, 0.5

Wake = Callable[[], object]
_lock = threading.Lock()
_waiting: defaultdict[str, set[Wake]] = defaultdict(set)


def notify(*topics: str) -> None:
    """Wakes all listeners of these topics, once the transaction has committed."""
    transaction.on_commit(partial(_send, topics), robust=True)


def notify_soon(topic: str) -> None:
    """Works like `notify`, but adds no statement to the transaction, for requests that must be
    fast. Listeners in this process wake at the commit. A thread notifies other processes:
    immediately, or SOON_SECONDS after it last notified them."""
    transaction.on_commit(partial(_send_soon, topic), robust=True)


@contextmanager
def listening(topic: str, wake: Wake) -> Iterator[None]:
    """Calls `wake`, from any thread, at each notification of this topic, and perhaps at
    notifications of other topics. `wake` must return immediately."""
    with _lock:
        _waiting[topic].add(wake)
    watcher.start()
    try:
        yield
    finally:
        with _lock:
            _waiting[topic].discard(wake)
            if not _waiting[topic]:
                del _waiting[topic]


def pause_seconds() -> float:
    """Returns after how many seconds a waiting thread looks at its rows even without a
    notification."""
    return LOOK_EVERY_SECONDS if watcher.hears.is_set() else LOOK_OFTEN_SECONDS


class Watcher:
    """Listens for the commits of other processes, in a thread that starts with the first waiting
    request."""

    def __init__(self) -> None:
        self.is_enabled = True
        self.hears = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        with _lock:
            if not self.is_enabled or (self._thread and self._thread.is_alive()):
                return
            if watch := _watch_for():
                self._thread = threading.Thread(target=self._run, args=(watch,), daemon=True)
                self._thread.start()

    def _run(self, watch: Callable[[Watcher], None]) -> None:
        while self.is_enabled:
            try:
                watch(self)
            except (psycopg.Error, sqlite3.Error) as error:
                log.warning("Notifications of the database stopped: %s", error)
                time.sleep(RECONNECT_SECONDS)
            finally:
                self.hears.clear()


watcher = Watcher()


class NotificationSender:
    """Notifies other processes of the first commit immediately, and of all further commits within
    `seconds` together. The sender's thread starts with the first notification. The thread's
    connection goes back to the pool each time."""

    def __init__(self, *, seconds: float = SOON_SECONDS) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._topics: set[str] = set()
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, topic: str) -> None:
        with self._lock:
            self._topics.add(topic)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
        self._woken.set()

    def _run(self) -> None:
        while self._woken.wait():
            self._woken.clear()
            with self._lock:
                topics, self._topics = sorted(self._topics), set()
            try:
                for start in range(0, len(topics), TOPICS_AT_ONCE):
                    _notify_other_processes(topics[start : start + TOPICS_AT_ONCE])
            except DatabaseError as error:
                log.warning("Notifications were not sent: %s", error)
            finally:
                connection.close()
            time.sleep(self._seconds)


sender = NotificationSender()


def _watch_for() -> Callable[[Watcher], None] | None:
    """Returns the function that watches this database, or None if it cannot be watched."""
    if connection.vendor == "postgresql":
        # LISTEN receives nothing behind a transaction pooler.
        parameters = connection.direct_connection_params()  # type: ignore[attr-defined]
        return partial(_watch_postgresql, parameters)
    path = Path(str(connection.settings_dict["NAME"]))
    return partial(_watch_sqlite, path) if path.is_file() else None


def _watch_postgresql(parameters: dict[str, Any], watcher: Watcher) -> None:
    with psycopg.connect(**parameters, autocommit=True) as listener:
        listener.execute(f"LISTEN {CHANNEL}")
        watcher.hears.set()
        _wake_all()  # no notification came for commits before this moment
        while watcher.is_enabled:
            for notification in listener.notifies(timeout=1):
                _wake(notification.payload.split())


def _watch_sqlite(path: Path, watcher: Watcher) -> None:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
        before = None
        watcher.hears.set()
        while watcher.is_enabled:
            (version,) = database.execute("PRAGMA data_version").fetchone()
            if version != before:
                before = version
                _wake_all()
            time.sleep(SQLITE_EVERY_SECONDS)


def _send(topics: Collection[str]) -> None:
    _wake(topics)
    if connection.vendor == "postgresql":
        _notify_other_processes(topics)


def _send_soon(topic: str) -> None:
    _wake([topic])
    if connection.vendor == "postgresql" and watcher.is_enabled:
        sender.add(topic)


def _notify_other_processes(topics: Collection[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, " ".join(topics)])


def _wake_all() -> None:
    _wake(list(_waiting))


def _wake(topics: Collection[str]) -> None:
    with _lock:
        wakes = {wake for topic in topics for wake in _waiting.get(topic, ())}
    for wake in wakes:
        wake()
