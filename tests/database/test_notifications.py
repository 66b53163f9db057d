"""A commit wakes everything that waits for the commit, in this process or in another process."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from database import notifications
from database.notifications import (
    NotificationSender,
    Watcher,
    listening,
    notify,
    notify_soon,
    pause_seconds,
)

PATIENCE = 30
CollectFor = Callable[[float], None]


@pytest.fixture
def watcher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watcher]:
    """Returns a watcher that hears other processes, as a server does."""
    watcher = Watcher()
    monkeypatch.setattr(notifications, "watcher", watcher)  # the usual watcher is off in tests
    yield watcher
    watcher.is_enabled = False
    if watcher._thread:
        watcher._thread.join(PATIENCE)


@pytest.fixture
def collect_for(watcher: Watcher, monkeypatch: pytest.MonkeyPatch) -> CollectFor:
    """Returns a function that sets for how many seconds this process collects notifications before
    it sends them to others."""

    def collect_for(seconds: float) -> None:
        # The process has one sender, whose thread may still wait because of an earlier test.
        monkeypatch.setattr(notifications, "sender", NotificationSender(seconds=seconds))

    return collect_for


@pytest.mark.django_db(transaction=True)
def test_a_notification_comes_with_the_commit_and_to_its_topic_alone() -> None:
    here, elsewhere = threading.Event(), threading.Event()

    with listening("a", here.set), listening("b", elsewhere.set):
        with transaction.atomic():
            notify("a", "c")
            before = here.is_set()
        committed = here.is_set()
        here.clear()
        with suppress(ZeroDivisionError), transaction.atomic():
            notify("a")
            1 / 0  # noqa: B018
    notify("a")

    assert (before, committed, here.is_set(), elsewhere.is_set()) == (False, True, False, False)


def test_without_notifications_the_database_is_polled() -> None:
    assert pause_seconds() == notifications.LOOK_OFTEN_SECONDS


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="about PostgreSQL")
def test_postgresql_notifies_of_other_processes_commits(watcher: Watcher) -> None:
    woken = threading.Event()

    with listening("a", woken.set):
        assert watcher.hears.wait(PATIENCE)
        seconds = pause_seconds()
        woken.clear()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify('wake', 'z a')")
        is_woken = woken.wait(PATIENCE)

    assert is_woken
    assert seconds == notifications.LOOK_EVERY_SECONDS


@pytest.mark.django_db(transaction=True)
def test_what_is_notified_soon_wakes_this_process_at_the_commit() -> None:
    woken = threading.Event()

    with listening("a", woken.set):
        with transaction.atomic():
            notify_soon("a")
            before = woken.is_set()
        committed = woken.is_set()

    assert (before, committed) == (False, True)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="about PostgreSQL")
def test_postgresql_is_told_of_many_commits_in_one_statement(
    collect_for: CollectFor, django_assert_num_queries: Any
) -> None:
    parameters = connection.get_connection_params()
    collect_for(1.0)

    with psycopg.connect(**parameters, autocommit=True) as listener:
        listener.execute("LISTEN wake")
        with django_assert_num_queries(0):  # apart from the queries of the transactions themselves
            notify_soon("first")
            first = next(listener.notifies(timeout=PATIENCE)).payload
            for topic in ("a", "b", "a"):
                notify_soon(topic)
        heard = next(listener.notifies(timeout=PATIENCE)).payload

    assert (first, heard) == ("first", "a b")


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="about PostgreSQL")
def test_a_commit_that_comes_alone_is_told_at_once(collect_for: CollectFor) -> None:
    collect_for(10 * PATIENCE)

    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as listener:
        listener.execute("LISTEN wake")
        notify_soon("a")
        heard = [each.payload for each in listener.notifies(timeout=PATIENCE, stop_after=1)]

    assert heard == ["a"]


@pytest.mark.once
def test_sqlite_notices_that_its_file_has_changed(watcher: Watcher, tmp_path: Path) -> None:
    path, woken = tmp_path / "wake.sqlite3", threading.Event()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE thing (id)")
        thread = threading.Thread(target=notifications._watch_sqlite, args=(path, watcher))
        thread.start()
        with listening("a", woken.set):
            assert woken.wait(PATIENCE)
            woken.clear()
            with other:
                other.execute("INSERT INTO thing VALUES (1)")
            is_woken = woken.wait(PATIENCE)
        watcher.is_enabled = False
        thread.join(PATIENCE)

    assert is_woken
