"""Reads are counted in shares (docs/decisions/0025-reads-are-counted-in-shares.md)."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.core.cache import cache
from django.test import RequestFactory

from accounts.limits import read_limits
from accounts.limits.throttles import TooManyRequests
from tests.fixtures import wrapped

LIMIT = 100


@pytest.fixture(autouse=True)
def _limit(settings: Any) -> None:
    settings.WAKE_READS_PER_MINUTE = LIMIT


def read_until_refused(key: uuid.UUID) -> int:
    for number in range(10 * LIMIT):
        try:
            read_limits.count_read(key)
        except TooManyRequests:
            return number
    raise AssertionError("There was no limit.")


def test_a_key_reads_exactly_as_often_as_the_limit_says() -> None:
    assert read_until_refused(uuid.uuid4()) == LIMIT


def test_processes_share_the_limit_of_a_key_within_a_twentieth_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = uuid.uuid4()
    for _ in range(LIMIT - 10):
        read_limits.count_read(key)

    monkeypatch.setattr(read_limits, "_this_minute", read_limits._Minute())  # as in another process

    assert 10 <= read_until_refused(key) <= 10 + LIMIT // read_limits.SHARES


def test_most_reads_do_not_ask_the_cache() -> None:
    key = uuid.uuid4()

    with wrapped.counted(cache, "incr") as asked:
        for _ in range(LIMIT // 2):
            read_limits.count_read(key)

    assert len(asked) == read_limits.SHARES // 2


def test_calls_over_a2a_are_counted_by_caller_or_else_by_network(rf: RequestFactory) -> None:
    caller, one, other = uuid.uuid4(), rf.post("/"), rf.post("/", REMOTE_ADDR="192.0.2.7")
    for _ in range(LIMIT):
        read_limits.count_call(one, caller)
        read_limits.count_call(one, None)

    for caller_id in (caller, None):
        with pytest.raises(TooManyRequests):
            read_limits.count_call(one, caller_id)
    read_limits.count_call(other, None)
