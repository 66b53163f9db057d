"""Which results are told, in what order, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wake_client.connector.journal import Journal
from wake_client.connector.owed import BEATS_TO_CONFIRM, BYTES_IN_A_BEAT, MOST_TRIES, Owed


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal") as journal:
        yield journal


def ended(journal: Journal, dispatch_id: str, length: int = 10) -> dict[str, Any]:
    result = {"state": "completed", "text": "x" * length}
    journal.finish(dispatch_id, "lease", result)
    return result


def told(owed: Owed) -> list[str]:
    return [dispatch_id for dispatch_id, _, _ in owed.next()]


def a_while_later(owed: Owed) -> list[str]:
    return [one[0] for _ in range(BEATS_TO_CONFIRM) for one in owed.beat()]


def test_short_ones_go_first(journal: Journal) -> None:
    for dispatch_id, length in (("huge", 400_000), ("short", 10), ("long", 1_000)):
        ended(journal, dispatch_id, length)

    owed = Owed(journal)
    owed.resume()

    assert told(owed) == ["short", "long", "huge"]


def test_one_that_cuts_its_connection_leaves_room_for_the_others(journal: Journal) -> None:
    ended(journal, "huge", 400_000)
    owed = Owed(journal)
    for _ in range(2):
        owed.resume()
        assert told(owed) == ["huge"]

    ended(journal, "next")
    owed.resume()

    assert told(owed) == ["next"]
    assert not owed.is_due
    a_while_later(owed)
    assert told(owed) == ["next"]  # alone: the one that it was told with before went behind it
    assert told(owed) == ["huge"]


def test_it_is_told_so_often_and_then_there_is_no_hope(journal: Journal) -> None:
    result = ended(journal, "huge")
    owed = Owed(journal)
    owed.resume()

    for _ in range(MOST_TRIES - 1):
        assert told(owed) == ["huge"]
        assert a_while_later(owed) == []
    assert told(owed) == ["huge"]

    assert [one for _ in range(BEATS_TO_CONFIRM) for one in owed.beat()] == [
        ("huge", "lease", result)
    ]


def test_a_long_one_has_time_to_go_up_a_slow_line(journal: Journal) -> None:
    ended(journal, "huge", 10 * BYTES_IN_A_BEAT)
    owed = Owed(journal)
    owed.resume()
    told(owed)

    a_while_later(owed)
    a_while_later(owed)
    assert (owed.is_due, owed.is_long_on_its_way) == (False, True)
    a_while_later(owed)
    a_while_later(owed)

    assert not owed.is_long_on_its_way
    assert told(owed) == ["huge"]


def test_a_long_one_that_the_relay_failed_at_is_not_waited_for(journal: Journal) -> None:
    ended(journal, "huge", 10 * BYTES_IN_A_BEAT)
    owed = Owed(journal)
    owed.resume()
    told(owed)

    owed.in_vain("huge")

    assert not owed.is_long_on_its_way
    a_while_later(owed)
    assert told(owed) == ["huge"]


def test_it_is_no_longer_on_its_way_when_that_is_lost(journal: Journal) -> None:
    ended(journal, "huge", 10 * BYTES_IN_A_BEAT)
    owed = Owed(journal)
    owed.resume()
    told(owed)

    owed.resume()

    assert not owed.is_long_on_its_way
    assert told(owed) == ["huge"]


def test_what_is_confirmed_is_never_told_again(journal: Journal) -> None:
    ended(journal, "short")
    owed = Owed(journal)
    owed.resume()
    told(owed)

    owed.settle("short")
    a_while_later(owed)

    assert told(owed) == []
    assert journal.unconfirmed() == []
