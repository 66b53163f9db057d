"""Workers claim rows for a limited time, because their work waits for another server."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import ResetRequest
from database.sweeps import Lease, sweep_leased
from tests.database.locks import locked_elsewhere
from tests.stress.concurrency.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)

NOW = timezone.now()
MINUTE = timedelta(minutes=1)
LEASE = Lease("due_at", 2 * MINUTE)


def due(at: datetime) -> QuerySet[ResetRequest]:
    return ResetRequest.objects.filter(due_at__lte=at).order_by("due_at")


def request(number: int = 1) -> ResetRequest:
    """Returns a row that is due; higher numbers are due later."""
    due_at = NOW - MINUTE + timedelta(seconds=number)
    return ResetRequest.objects.create(email=f"{number}@example.com", asked_at=NOW, due_at=due_at)


def test_a_claimed_row_is_due_again_when_its_lease_ends() -> None:
    row = request()

    assert LEASE.claim(due(NOW), at=NOW) == [row]
    assert LEASE.claim(due(NOW + MINUTE), at=NOW + MINUTE) == []
    assert LEASE.claim(due(NOW + 2 * MINUTE), at=NOW + 2 * MINUTE) == [row]


def test_the_longest_due_rows_are_claimed_first() -> None:
    rows = [request(number) for number in (2, 1, 3)]

    assert LEASE.claim(due(NOW), at=NOW, at_once=2) == [rows[1], rows[0]]


def test_a_row_is_held_until_another_worker_claims_it() -> None:
    request()
    (first,) = LEASE.claim(due(NOW), at=NOW)
    assert LEASE.held(first).exists()

    later = NOW + LEASE.length
    (second,) = LEASE.claim(due(later), at=later)

    assert not LEASE.held(first).exists()
    assert LEASE.held(second).exists()


def test_looking_for_rows_opens_no_transaction() -> None:
    """SQLite has one writer at a time, and an open transaction may be that writer."""
    with CaptureQueriesContext(connection) as queries:
        assert LEASE.claim(due(NOW), at=NOW) == []

    assert len(queries) == 1


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite locks no single rows")
def test_a_locked_row_is_left_to_the_next_sweep() -> None:
    locked, free = request(1), request(2)

    with locked_elsewhere(ResetRequest.objects.filter(pk=locked.pk)):
        assert LEASE.claim(due(NOW), at=NOW, at_once=2) == [free]


def test_two_workers_at_once_do_each_work_once() -> None:
    for number in range(6):
        request(number)
    worked: list[str] = []

    def work(row: ResetRequest) -> int:
        worked.append(row.email)
        return 1

    def sweep() -> int:
        return sweep_leased(due, work, lease=LEASE, what="requests", clock=lambda: NOW)

    counts = at_once(sweep, sweep, sweep)

    assert sum(counts) == 6
    assert sorted(worked) == [f"{number}@example.com" for number in range(6)]


def test_nothing_is_locked_while_the_work_waits() -> None:
    """While one worker waits for a slow mail server, another worker continues."""
    request(1)
    request(2)
    is_waiting, is_over = threading.Event(), threading.Event()
    worked: list[str] = []

    def wait(row: ResetRequest) -> int:
        is_waiting.set()
        assert is_over.wait(30)
        worked.append(row.email)
        return 1

    def work(row: ResetRequest) -> int:
        worked.append(row.email)
        return 1

    def sweep_slowly() -> None:
        sweep_leased(due, wait, lease=LEASE, what="requests", clock=lambda: NOW, at_once=1)

    def sweep_meanwhile() -> None:
        assert is_waiting.wait(30)
        sweep_leased(due, work, lease=LEASE, what="requests", clock=lambda: NOW)
        is_over.set()

    at_once(sweep_slowly, sweep_meanwhile)

    assert worked == ["2@example.com", "1@example.com"]


def test_work_that_fails_is_tried_again_after_the_lease() -> None:
    row = request()
    tries: list[int] = []

    def fail(row: ResetRequest) -> int:
        tries.append(row.pk)
        raise ValueError("This work fails.")

    for at in (NOW, NOW + MINUTE, NOW + LEASE.length):
        sweep_leased(due, fail, lease=LEASE, what="requests", clock=lambda at=at: at)  # type: ignore[misc]

    assert tries == [row.pk, row.pk]
