"""Concurrent guesses at a password are counted exactly."""

from __future__ import annotations

from datetime import UTC, datetime

from accounts.limits import attempts
from tests.stress.concurrency.threads import at_once

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
LIMIT = attempts.Limit(10, 60)


def test_no_more_concurrent_guesses_than_the_limit_are_allowed() -> None:
    waits = at_once(*[lambda: attempts.take(LIMIT, of="alice", at=AT)] * 30)

    assert waits.count(0) == 10
    assert set(waits) == {0, 6}
