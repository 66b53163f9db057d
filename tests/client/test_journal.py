"""The journal on the disk, as a crash leaves it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from wake_client.connector.journal import COMPACT_ABOVE, MOST_KEPT, Journal, JournalInUse

RESULT = {"state": "completed", "text": "Painted."}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "painter.journal"


def test_it_knows_again_what_was_started_and_what_ended(path: Path) -> None:
    with Journal(path) as journal:
        journal.start("first")
        journal.start("second")
        journal.finish("second", "lease", RESULT)

    with Journal(path) as journal:
        assert (journal.starts("first"), journal.result("first")) == (1, None)
        assert journal.result("second") == RESULT
        assert journal.unconfirmed() == [("second", "lease", RESULT)]


def test_what_the_relay_confirmed_is_dropped(path: Path) -> None:
    with Journal(path) as journal:
        journal.start("first")
        journal.finish("first", "lease", RESULT)
        journal.confirm("first")
        assert journal.unconfirmed() == []

    with Journal(path) as journal:
        assert journal.unconfirmed() == []
    assert path.read_bytes() == b""


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_line_that_a_crash_cut_off_is_dropped_and_written_over(path: Path, cut: int) -> None:
    with Journal(path) as journal:
        journal.start("first")
        journal.finish("first", "lease", RESULT)
    path.write_bytes(path.read_bytes()[:-cut])

    with Journal(path) as journal:
        seen = journal.result("first")
        journal.finish("first", "lease", RESULT)

    assert seen == (RESULT if cut == 1 else None)
    with Journal(path) as journal:
        assert journal.starts("first") == 1
        assert journal.result("first") == RESULT


def test_only_one_connector_writes_it(path: Path) -> None:
    with Journal(path), pytest.raises(JournalInUse):
        Journal(path)

    Journal(path).close()


def test_nobody_else_may_read_what_is_in_it(path: Path) -> None:
    with Journal(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_it_does_not_grow_with_what_is_confirmed(path: Path) -> None:
    long = {"state": "completed", "text": "x" * 100_000}
    with Journal(path) as journal:
        journal.finish("held", "lease", RESULT)
        for number in range(50):
            journal.start(str(number))
            journal.finish(str(number), "lease", long)
            journal.confirm(str(number))
        grown = path.stat().st_size
        journal.start("after")

    assert grown <= COMPACT_ABOVE + 101_000
    with Journal(path) as journal:
        assert journal.unconfirmed() == [("held", "lease", RESULT)]
        assert journal.starts("after") == 1


def test_what_is_held_may_be_longer_than_that(path: Path) -> None:
    long = {"state": "completed", "text": "x" * 2 * COMPACT_ABOVE}
    with Journal(path) as journal:
        journal.finish("held", "lease", long)
        written = path.stat().st_ino
        for number in range(50):
            journal.start(str(number))
            journal.confirm(str(number))
        assert path.stat().st_ino == written

    with Journal(path) as journal:
        assert journal.result("held") == long


def test_a_disk_that_refuses_to_compact_it_loses_nothing(path: Path) -> None:
    with Journal(path) as journal:
        path.with_name(path.name + ".new").mkdir()
        for number in range(30):
            journal.finish(str(number), "lease", {"text": "x" * 100_000})
            if number:
                journal.confirm(str(number))

    path.with_name(path.name + ".new").rmdir()
    with Journal(path) as journal:
        assert [one for one, _, _ in journal.unconfirmed()] == ["0"]


def test_what_is_kept_is_a_file_for_its_owner_and_the_newest_are(path: Path) -> None:
    with Journal(path) as journal:
        kept = [Path(journal.keep(f"../{number}", RESULT)) for number in range(MOST_KEPT + 2)]
        assert [one.exists() for one in kept] == [False] * 2 + [True] * MOST_KEPT
        assert {one.parent for one in kept} == {path.with_name(path.name + ".kept")}
        assert stat.S_IMODE(kept[-1].stat().st_mode) == 0o600
        assert journal.result(f"../{MOST_KEPT}") == RESULT
        assert journal.unconfirmed() == []
