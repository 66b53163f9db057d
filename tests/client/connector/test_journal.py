"""The journal on disk can be read after a crash."""

from __future__ import annotations

import fcntl
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.client.connector.relay import CLIENT
from wake_client.connector.journal import MAX_SET_ASIDE, Journal, JournalInUse

RESULT = {"state": "completed", "text": "Painted."}
LONG = {"state": "completed", "text": "x" * 100_000}
MEGABYTE = 1024 * 1024


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "painter.journal"


def test_it_remembers_what_was_started_and_what_ended(path: Path) -> None:
    with Journal(path) as journal:
        journal.start("first")
        journal.start("second")
        journal.finish("second", "lease", RESULT)

    with Journal(path) as journal:
        assert (journal.starts("first"), journal.result("first")) == (1, None)
        assert journal.result("second") == RESULT
        assert journal.unconfirmed() == [("second", "lease", RESULT)]


def test_a_confirmed_run_is_dropped_and_its_text_is_gone_from_the_disk(path: Path) -> None:
    with Journal(path) as journal:
        journal.start("first")
        journal.finish("first", "lease", RESULT)
        journal.confirm("first")
        assert journal.unconfirmed() == []

    with Journal(path) as journal:
        assert journal.unconfirmed() == []
    assert b"Painted" not in path.read_bytes()


def test_only_one_connector_writes_it(path: Path) -> None:
    with Journal(path), pytest.raises(JournalInUse):
        Journal(path)

    Journal(path).close()


def test_only_its_owner_may_read_it(path: Path) -> None:
    with Journal(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_it_does_not_grow_with_what_is_confirmed(path: Path) -> None:
    with Journal(path) as journal:
        journal.finish("held", "lease", RESULT)
        for number in range(50):
            journal.start(str(number))
            journal.finish(str(number), "lease", LONG)
            journal.confirm(str(number))
        journal.start("after")

        assert path.stat().st_size < 101_000
    with Journal(path) as journal:
        assert journal.unconfirmed() == [("held", "lease", RESULT)]
        assert journal.starts("after") == 1


def test_an_unconfirmed_result_may_be_long(path: Path) -> None:
    long = {"state": "completed", "text": "x" * 2 * MEGABYTE}
    with Journal(path) as journal:
        journal.finish("held", "lease", long)
        file_id = path.stat().st_ino
        for number in range(50):
            journal.start(str(number))
            journal.confirm(str(number))
        assert path.stat().st_ino == file_id

    with Journal(path) as journal:
        assert journal.result("held") == long


def test_a_disk_that_refuses_to_write_loses_nothing(path: Path) -> None:
    blocked = path.with_name(path.name + "-journal")  # SQLite writes its own journal there
    with Journal(path) as journal:
        journal.finish("before", "lease", RESULT)
        blocked.mkdir()
        for number in range(30):
            journal.finish(str(number), "lease", LONG)
            if number:
                journal.confirm(str(number))
        unconfirmed = [run_id for run_id, _, _ in journal.unconfirmed()]
        blocked.rmdir()
        journal.start("after")

    with Journal(path) as journal:
        assert [run_id for run_id, _, _ in journal.unconfirmed()] == unconfirmed == ["before", "0"]
        assert journal.starts("after") == 1


def test_a_result_that_is_set_aside_is_a_file_for_its_owner_and_the_newest_stay(
    path: Path,
) -> None:
    with Journal(path) as journal:
        files = [
            Path(journal.set_aside(f"../{number}", RESULT)) for number in range(MAX_SET_ASIDE + 2)
        ]
        assert [file.exists() for file in files] == [False] * 2 + [True] * MAX_SET_ASIDE
        assert {file.parent for file in files} == {path.with_name(path.name + ".kept")}
        assert stat.S_IMODE(files[-1].stat().st_mode) == 0o600
        assert journal.result(f"../{MAX_SET_ASIDE}") == RESULT
        assert journal.unconfirmed() == []


def test_a_file_that_is_no_journal_is_left_as_it_is(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("Buy paint.\n" * 100)

    with pytest.raises(sqlite3.DatabaseError):
        Journal(notes)

    assert notes.read_text() == "Buy paint.\n" * 100


WRITES_UNTIL_IT_IS_KILLED = """
import itertools, sys
from pathlib import Path
from wake_client.connector.journal import Journal

with Journal(Path(sys.argv[1])) as journal:
    for number in itertools.count(int(sys.argv[2])):
        journal.start(str(number))
        print("started", number, flush=True)
        journal.finish(str(number), "lease", {"text": "x" * (number % 7) * 10_000})
        print("finished", number, flush=True)
        if number % 3:
            journal.confirm(str(number))
            print("confirmed", number, flush=True)
"""


def test_a_journal_killed_at_any_point_has_every_recorded_run(path: Path) -> None:
    """The step that was being written may be missing, but every step before it is in the
    journal."""
    last_event: dict[str, str] = {}
    interrupted: set[str] = set()
    for kill in range(5):
        events = killed_after(path, lines=10 + 17 * kill, first=1_000 * kill)
        last_event |= dict(events)
        interrupted.add(events[-1][0])

        with Journal(path) as journal:
            unconfirmed = {run_id for run_id, _, _ in journal.unconfirmed()}
            known = {run_id for run_id in last_event if journal.starts(run_id)}
        for run_id, event in last_event.items():
            if run_id not in interrupted:
                assert (run_id in unconfirmed) == (event == "finished")
            assert event == "finished" or (run_id in known) == (event == "started")


def killed_after(path: Path, *, lines: int, first: int) -> list[tuple[str, str]]:
    """Returns the (run, event) pairs in the journal of a process that was killed after so many
    lines."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITES_UNTIL_IT_IS_KILLED, str(path), str(first)],
        env={"PYTHONPATH": str(CLIENT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    printed = [process.stdout.readline() for _ in range(lines)]
    process.kill()
    printed += process.stdout.readlines()
    process.stdout.close()
    process.wait()
    return [(run_id, event) for event, run_id in (line.split() for line in printed)]


VERSION_0_1 = (
    b'{"event":"started","dispatch_id":"first"}\n'
    b'{"event":"started","dispatch_id":"second"}\n'
    b'{"event":"finished","dispatch_id":"second","lease_id":"lease","result":{"text":"Old."}}\n'
    b'{"event":"confirmed","dispatch_id":"second"}\n'
    b'{"event":"started","dispatch_id":"first"}\n'
    b'{"event":"finished","dispatch_id":"first","lease_id":"lease",'
    b'"result":{"state":"completed","text":"Painted."}}\n'
)


@pytest.fixture
def old(path: Path) -> Path:
    path.parent.mkdir()
    path.write_bytes(VERSION_0_1)
    return path


def test_a_journal_of_version_0_1_is_converted(old: Path) -> None:
    for _ in range(2):
        with Journal(old) as journal:
            assert journal.starts("first") == 2
            assert journal.unconfirmed() == [("first", "lease", RESULT)]
    assert stat.S_IMODE(old.stat().st_mode) == 0o600


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_line_that_a_crash_cut_off_is_dropped_and_written_over(old: Path, cut: int) -> None:
    old.write_bytes(VERSION_0_1[:-cut])

    with Journal(old) as journal:
        seen = journal.result("first")
        journal.finish("first", "lease", RESULT)

    assert seen == (RESULT if cut == 1 else None)
    with Journal(old) as journal:
        assert journal.starts("first") == 2
        assert journal.result("first") == RESULT


def test_a_killed_conversion_is_repeated(old: Path) -> None:
    """The unfinished database is ignored. SQLite's own rollback journal for that database is
    ignored, too."""
    with Journal(old.with_name("another")) as another:
        another.finish("another", "lease", RESULT)
    unfinished = old.with_name("another").rename(old.with_name(old.name + ".new"))
    unfinished.with_name(unfinished.name + "-journal").write_bytes(b"torn" * 1_000)

    with Journal(old) as journal:
        assert journal.unconfirmed() == [("first", "lease", RESULT)]

    assert not unfinished.exists()


CONVERTS = """
import sys
from pathlib import Path
from wake_client.connector.journal import Journal

print("ready", flush=True)
Journal(Path(sys.argv[1])).close()
"""


@pytest.mark.parametrize("seconds", [0, 0.01, 0.05])
def test_a_killed_conversion_loses_nothing(path: Path, seconds: float) -> None:
    path.parent.mkdir()
    lines = VERSION_0_1.replace(b"first", b"first-%d").replace(b"second", b"second-%d")
    path.write_bytes(b"".join(lines % ((number,) * 6) for number in range(1_000)))

    process = subprocess.Popen(
        [sys.executable, "-c", CONVERTS, str(path)],
        env={"PYTHONPATH": str(CLIENT)},
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    process.stdout.readline()
    time.sleep(seconds)
    process.kill()
    process.wait()
    process.stdout.close()

    with Journal(path) as journal:
        assert journal.unconfirmed() == [
            (f"first-{number}", "lease", RESULT) for number in range(1_000)
        ]


def test_a_journal_that_version_0_1_uses_is_not_converted(old: Path) -> None:
    with old.with_name(old.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(JournalInUse):
            Journal(old)

    assert old.read_bytes() == VERSION_0_1


def test_another_journal_is_adopted_with_its_runs_and_its_files(tmp_path: Path) -> None:
    with Journal(tmp_path / "of-key") as earlier:
        earlier.start("r-1")
        earlier.finish("r-2", "l-2", RESULT)
        earlier.set_aside("r-3", RESULT)
    with Journal(tmp_path / "of-agent") as journal:
        journal.finish("r-2", "newer", RESULT)
        journal.adopt(tmp_path / "of-key")
        journal.adopt(tmp_path / "of-key")

    with Journal(tmp_path / "of-agent") as journal:
        assert journal.starts("r-1") == 1
        assert journal.unconfirmed() == [("r-2", "newer", RESULT)]
        assert journal.result("r-3") == RESULT
    assert not (tmp_path / "of-key").exists()


def test_a_journal_in_use_is_not_adopted(tmp_path: Path) -> None:
    with (
        Journal(tmp_path / "of-key"),
        Journal(tmp_path / "of-agent") as journal,
        pytest.raises(JournalInUse),
    ):
        journal.adopt(tmp_path / "of-key")
