"""The connector sends the right results, in order, and repeats them in time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wake_client.connector.journal import Journal
from wake_client.connector.unconfirmed import (
    BYTES_PER_HEARTBEAT,
    HEARTBEATS_TO_CONFIRM,
    MAX_TRIES,
    UnconfirmedResults,
)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal") as journal:
        yield journal


def ended(journal: Journal, run_id: str, length: int = 10) -> dict[str, Any]:
    result = {"state": "completed", "text": "x" * length}
    journal.finish(run_id, "lease", result)
    return result


def send(results: UnconfirmedResults) -> list[str]:
    """Sends the due results and returns their runs."""
    return [run_id for run_id, _, _ in results.next_batch()]


def a_while_later(results: UnconfirmedResults) -> list[str]:
    """Returns the runs whose results are sent within the next heartbeats, until the tries have run
    out."""
    return [run_id for _ in range(HEARTBEATS_TO_CONFIRM) for run_id, _, _ in results.heartbeat()]


def test_short_results_go_first(journal: Journal) -> None:
    for run_id, length in (("huge", 400_000), ("short", 10), ("long", 1_000)):
        ended(journal, run_id, length)

    results = UnconfirmedResults(journal)
    results.reconnected()

    assert send(results) == ["short", "long", "huge"]


def test_a_result_that_breaks_its_connection_leaves_room_for_the_others(journal: Journal) -> None:
    ended(journal, "huge", 400_000)
    results = UnconfirmedResults(journal)
    for _ in range(2):
        results.reconnected()
        assert send(results) == ["huge"]

    ended(journal, "next")
    results.reconnected()

    assert send(results) == ["next"]
    assert not results.has_due
    a_while_later(results)
    assert send(results) == [
        "next"
    ]  # sent alone, because it comes after the result with which it was sent before
    assert send(results) == ["huge"]


def test_a_result_is_sent_at_most_five_times(journal: Journal) -> None:
    result = ended(journal, "huge")
    results = UnconfirmedResults(journal)
    results.reconnected()

    for _ in range(MAX_TRIES - 1):
        assert send(results) == ["huge"]
        assert a_while_later(results) == []
    assert send(results) == ["huge"]

    assert [one for _ in range(HEARTBEATS_TO_CONFIRM) for one in results.heartbeat()] == [
        ("huge", "lease", result)
    ]


def test_a_long_result_has_time_on_a_slow_connection(journal: Journal) -> None:
    ended(journal, "huge", 10 * BYTES_PER_HEARTBEAT)
    results = UnconfirmedResults(journal)
    results.reconnected()
    send(results)

    a_while_later(results)
    a_while_later(results)
    assert (results.has_due, results.is_sending_long_result) == (False, True)
    a_while_later(results)
    a_while_later(results)

    assert not results.is_sending_long_result
    assert send(results) == ["huge"]


def test_the_connector_does_not_wait_for_a_long_result_that_failed(journal: Journal) -> None:
    ended(journal, "huge", 10 * BYTES_PER_HEARTBEAT)
    results = UnconfirmedResults(journal)
    results.reconnected()
    send(results)

    results.try_failed("huge")

    assert not results.is_sending_long_result
    a_while_later(results)
    assert send(results) == ["huge"]


def test_a_long_result_is_not_being_sent_when_its_connection_is_lost(journal: Journal) -> None:
    ended(journal, "huge", 10 * BYTES_PER_HEARTBEAT)
    results = UnconfirmedResults(journal)
    results.reconnected()
    send(results)

    results.reconnected()

    assert not results.is_sending_long_result
    assert send(results) == ["huge"]


def test_a_confirmed_result_is_never_sent_again(journal: Journal) -> None:
    ended(journal, "short")
    results = UnconfirmedResults(journal)
    results.reconnected()
    send(results)

    results.confirm("short")
    a_while_later(results)

    assert send(results) == []
    assert journal.unconfirmed() == []
