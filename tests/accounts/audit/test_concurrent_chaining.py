"""Concurrent sweeps and writers leave no fork, no gap and no event outside the audit chain."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.audit import SYSTEM, chain, record
from accounts.audit.verification import verify
from accounts.models import AuditCheckpoint, AuditEntry, AuditEvent, Team
from tests.stress.concurrency.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)

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
def test_an_event_that_becomes_visible_late_is_chained_further_down(team: Team) -> None:
    _write(team)
    with _unfinished(team) as finish:
        _write(team)
        assert chain.append_new(at=timezone.now()) == 2
        late = AuditEvent.objects.latest("pk").pk - 1

        finish()

    assert chain.append_new(at=timezone.now()) == 1
    assert AuditEntry.objects.get(event_id=late).position == 3
    assert verify(team.pk).position == 3


@only_where_writers_overlap
def test_no_gap_is_skipped_while_a_transaction_may_still_write_below(team: Team) -> None:
    with _unfinished(team) as finish:
        _write(team)
        for _ in range(3):
            chain.append_new(at=timezone.now())
        assert AuditCheckpoint.objects.get().event_id == 0

        finish()

    chain.append_new(at=timezone.now())
    assert AuditCheckpoint.objects.get().event_id == AuditEvent.objects.latest("pk").pk


@only_where_writers_overlap
def test_gaps_are_skipped_although_some_transaction_is_always_open(team: Team) -> None:
    with _unfinished(team) as finish_first:
        _write(team)
        chain.append_new(at=timezone.now())
        newest = AuditEvent.objects.latest("pk").pk
        with _unfinished(team):
            finish_first()
            chain.append_new(at=timezone.now())

            assert AuditCheckpoint.objects.get().event_id == newest


def test_two_concurrent_sweeps_do_not_fork_the_chain(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain, "AT_ONCE", 20)
    for _ in range(200):
        _write(team)

    at_once(*[lambda: chain.append_new(at=timezone.now())] * 4)
    chain.append_new(at=timezone.now())

    assert verify(team.pk).position == 200


def test_events_of_many_writers_are_chained_although_some_roll_back(team: Team) -> None:
    def write(seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311 - nothing here is a secret
        for _ in range(25):
            with transaction.atomic():
                for _ in range(chance.randint(1, 3)):
                    _write(team)
                if chance.random() < 0.2:
                    transaction.set_rollback(True)

    def sweep() -> None:
        for _ in range(15):
            chain.append_new(at=timezone.now())

    at_once(*[lambda seed=seed: write(seed) for seed in range(6)], sweep, sweep)
    chain.append_new(at=timezone.now())

    verified = verify(team.pk)
    assert (verified.position, verified.waiting) == (AuditEvent.objects.count(), 0)
