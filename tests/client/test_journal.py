"""The journal on the disk, as a crash leaves it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from wake_client.connector.journal import Journal, JournalInUse

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
