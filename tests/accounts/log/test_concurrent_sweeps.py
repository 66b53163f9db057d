"""Concurrent sweeps and writers leave no fork, no gap and no event outside the log."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from accounts.audit import SYSTEM, record
from accounts.log import sweep
from accounts.log.verification import verify, verify_team
from accounts.models import AuditCheckpoint, AuditEvent, LogEntry, Team
from tests.stress.concurrency.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)

SWEEP = """
import django
django.setup()
from django.utils import timezone
from accounts.log import sweep
print("ready", flush=True)
input()
for _ in range(40):
    sweep.append_new(at=timezone.now(), at_once=7)
"""

only_where_writers_overlap = pytest.mark.skipif(
    "connection.vendor != 'postgresql'", reason="SQLite has one writer at a time."
)


@pytest.fixture
def team(transactional_db: None) -> Team:
    return Team.objects.create(slug="garden", name="Garden")


def _write(team: Team) -> None:
    record("lamp.lit", by=SYSTEM, of=team, team=team)


@contextmanager
def _unfinished(team: Team) -> Iterator[Callable[[], None]]:
    """Holds a transaction of another connection that has written an event."""
    written, end = threading.Event(), threading.Event()

    def run() -> None:
        with transaction.atomic():
            _write(team)
            written.set()
            end.wait(30)
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    written.wait(30)

    def finish() -> None:
        end.set()
        thread.join(30)

    try:
        yield finish
    finally:
        finish()


@only_where_writers_overlap
def test_an_event_that_becomes_visible_late_is_logged_later(team: Team) -> None:
    _write(team)
    with _unfinished(team) as finish:
        _write(team)
        assert sweep.append_new(at=timezone.now()) == 2
        late = AuditEvent.objects.latest("pk").pk - 1

        finish()

    assert sweep.append_new(at=timezone.now()) == 1
    assert LogEntry.objects.get(event_id=late).number == 3
    assert verify().size == 3


@only_where_writers_overlap
def test_no_gap_is_skipped_while_a_transaction_may_still_write_below(team: Team) -> None:
    with _unfinished(team) as finish:
        _write(team)
        for _ in range(3):
            sweep.append_new(at=timezone.now())
        assert AuditCheckpoint.objects.get().event_id == 0

        finish()

    sweep.append_new(at=timezone.now())
    assert AuditCheckpoint.objects.get().event_id == AuditEvent.objects.latest("pk").pk


@only_where_writers_overlap
def test_gaps_are_skipped_although_some_transaction_is_always_open(team: Team) -> None:
    with _unfinished(team) as finish_first:
        _write(team)
        sweep.append_new(at=timezone.now())
        newest = AuditEvent.objects.latest("pk").pk
        with _unfinished(team):
            finish_first()
            sweep.append_new(at=timezone.now())

            assert AuditCheckpoint.objects.get().event_id == newest


def test_concurrent_sweeps_do_not_fork_the_log(team: Team) -> None:
    for _ in range(200):
        _write(team)

    at_once(*[lambda: sweep.append_new(at=timezone.now(), at_once=20)] * 4)
    sweep.append_new(at=timezone.now(), at_once=20)

    assert verify().size == 200


def test_events_of_many_writers_are_logged_although_some_roll_back(team: Team) -> None:
    def write(seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311 - nothing here is a secret
        for _ in range(25):
            with transaction.atomic():
                for _ in range(chance.randint(1, 3)):
                    _write(team)
                if chance.random() < 0.2:
                    transaction.set_rollback(True)

    def append() -> None:
        for _ in range(15):
            sweep.append_new(at=timezone.now())

    at_once(*[lambda seed=seed: write(seed) for seed in range(6)], append, append)
    sweep.append_new(at=timezone.now())

    verified = verify()
    assert (verified.size, verified.waiting) == (AuditEvent.objects.count(), 0)


@only_where_writers_overlap
@pytest.mark.slow
def test_two_processes_that_sweep_at_once_make_one_tree(team: Team) -> None:
    for _ in range(300):
        _write(team)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "WAKE_ENCRYPTION_KEYS": ",".join(settings.WAKE_ENCRYPTION_KEYS),
        "DATABASE_URL": _url_of_the_test_database(),
    }

    def write() -> None:
        for _ in range(50):
            _write(team)

    with _sweeping(environment) as first, _sweeping(environment) as second:
        for process in (first, second):
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
        for process in (first, second):
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        at_once(write, write)
        assert [process.wait(60) for process in (first, second)] == [0, 0]
    sweep.append_new(at=timezone.now())

    assert verify(from_start=True).size == 400
    assert verify_team(team.pk) == range(1, 401)


def _url_of_the_test_database() -> str:
    parts = urlsplit(settings.DATABASE_URL)
    return parts._replace(path=f"/{connection.settings_dict['NAME']}").geturl()


def _sweeping(environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SWEEP],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
