"""Records runs on disk, so that a crash loses no result and repeats no finished run."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import sqlite3
import uuid
from collections.abc import Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

logger = logging.getLogger(__name__)

MAX_SET_ASIDE = 20
SETTINGS = """
PRAGMA auto_vacuum = FULL;   -- the file shrinks again when results are confirmed
PRAGMA secure_delete = ON;   -- and no text of a result stays in it
PRAGMA synchronous = EXTRA;  -- a commit survives a power failure
CREATE TABLE IF NOT EXISTS run (
    run_id TEXT PRIMARY KEY, starts INTEGER NOT NULL, lease_id TEXT NOT NULL, result TEXT
);
CREATE TABLE IF NOT EXISTS journal (id TEXT NOT NULL);
"""
SAVE = """
INSERT INTO run (run_id, starts, lease_id, result) VALUES (?, ?, ?, ?)
ON CONFLICT (run_id) DO UPDATE SET
    starts = excluded.starts, lease_id = excluded.lease_id, result = excluded.result
"""


class JournalInUse(Exception):
    """Another connector is using this journal."""


@dataclass(slots=True)
class Record:
    """Contains the journal's facts about one run.

    `starts` counts how often its command was started here. `result` is set once the run has ended,
    and includes the lease under which it ended.
    """

    starts: int = 0
    lease_id: str = ""
    result: dict[str, Any] | None = None


class Journal:
    """Holds the runs that the relay has not confirmed, in memory and in an SQLite database.

    Each method commits its change to disk before the method returns, so the relay never knows more
    than the journal. Opening a journal raises JournalInUse, OSError or sqlite3.Error.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unsaved: set[str] = set()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as resources:
            resources.callback(os.close, _lock(path.with_name(path.name + ".lock")))
            if _is_of_version_0_1(path):
                _convert(path)
            self._database = resources.enter_context(closing(_open(path)))
            self.id = _read_id(self._database)
            self._records = _read_records(self._database)
            self._resources = resources.pop_all()

    def starts(self, run_id: str) -> int:
        """Returns how often the run's command was started here."""
        record = self._records.get(run_id)
        return record.starts if record else 0

    def result(self, run_id: str) -> dict[str, Any] | None:
        """Returns the result of a run that has ended here, even if it was set aside."""
        record = self._records.get(run_id)
        return record.result if record and record.result else self._read_set_aside(run_id)

    def unconfirmed(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Returns the run, lease and result of each run that has ended and is unconfirmed."""
        return [
            (run_id, record.lease_id, record.result)
            for run_id, record in self._records.items()
            if record.result is not None
        ]

    def start(self, run_id: str) -> None:
        self._records.setdefault(run_id, Record()).starts += 1
        self._save(run_id)

    def finish(self, run_id: str, lease_id: str, result: dict[str, Any]) -> None:
        record = self._records.setdefault(run_id, Record())
        record.lease_id, record.result = lease_id, result
        self._save(run_id)

    def confirm(self, run_id: str) -> None:
        """Forgets a run whose result the relay has stored."""
        if self._records.pop(run_id, None):
            self._save(run_id)

    def set_aside(self, run_id: str, result: dict[str, Any]) -> str:
        """Writes a result that the relay refuses to a file beside the journal, where a person can
        find it. Returns the file's name, or "" if the file cannot be written."""
        path = self._set_aside_path(run_id)
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123
                file.write(json.dumps(result).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())  # next, the journal forgets the result
            for oldest in sorted(path.parent.iterdir(), key=_modified_at)[:-MAX_SET_ASIDE]:
                oldest.unlink()
        except OSError as error:
            logger.warning("a result cannot be set aside: %s", error)
            return ""
        return str(path)

    def adopt(self, path: Path) -> None:
        """Takes over the runs of an earlier journal, and deletes that journal. Raises JournalInUse,
        OSError or sqlite3.Error."""
        if not path.exists():
            return
        with Journal(path) as earlier:
            for run_id, record in earlier._records.items():
                self._records.setdefault(run_id, record)
                self._save(run_id)
            if self._unsaved:
                return
            for file in sorted(earlier._set_aside_folder.glob("*.json")):
                self._set_aside_folder.mkdir(mode=0o700, exist_ok=True)
                file.rename(self._set_aside_folder / file.name)
            path.unlink()

    def close(self) -> None:
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _save(self, run_id: str) -> None:
        """Commits this run's record, and any records that could not be saved before."""
        self._unsaved.add(run_id)
        try:
            with self._database:
                for unsaved in self._unsaved:
                    _write(self._database, unsaved, self._records.get(unsaved))
        except sqlite3.Error as error:
            # The run goes on, because a result that reaches the relay matters more than its record.
            logger.warning("the journal cannot be written: %s", error)
        else:
            self._unsaved.clear()

    def _set_aside_path(self, run_id: str) -> Path:
        return self._set_aside_folder / (quote(run_id, safe="")[:200] + ".json")

    @property
    def _set_aside_folder(self) -> Path:
        return self._path.with_name(self._path.name + ".kept")

    def _read_set_aside(self, run_id: str) -> dict[str, Any] | None:
        try:
            return dict(json.loads(self._set_aside_path(run_id).read_bytes()))
        except (OSError, ValueError):
            return None


def _lock(path: Path) -> int:
    """Takes the same lock as version 0.1, so that the two never use a journal together. The kernel
    releases the lock when the process dies."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise JournalInUse(JournalInUse.__doc__) from error
    return descriptor


def _open(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite would let others read the file
    database = sqlite3.connect(path)
    try:
        database.executescript(SETTINGS)
    except sqlite3.Error:
        database.close()
        raise
    return database


def _read_id(database: sqlite3.Connection) -> uuid.UUID:
    """Returns the id of this journal. A journal gets its id when it is first opened."""
    with database:
        database.execute(
            "INSERT INTO journal (id) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM journal)",
            (str(uuid.uuid4()),),
        )
    (text,) = database.execute("SELECT id FROM journal").fetchone()
    return uuid.UUID(text)


def _read_records(database: sqlite3.Connection) -> dict[str, Record]:
    rows = database.execute("SELECT run_id, starts, lease_id, result FROM run ORDER BY rowid")
    return {
        run_id: Record(starts, lease_id, json.loads(result) if result else None)
        for run_id, starts, lease_id, result in rows
    }


def _write(database: sqlite3.Connection, run_id: str, record: Record | None) -> None:
    if record is None:
        database.execute("DELETE FROM run WHERE run_id = ?", (run_id,))
    else:
        result = None if record.result is None else json.dumps(record.result)
        database.execute(SAVE, (run_id, record.starts, record.lease_id, result))


def _modified_at(path: Path) -> float:
    return path.stat().st_mtime


def _is_of_version_0_1(path: Path) -> bool:
    """Returns whether the journal is a file of JSON lines."""
    try:
        with path.open("rb") as file:
            return file.read(1) == b"{"
    except FileNotFoundError:
        return False


def _convert(path: Path) -> None:
    """Replaces a journal of version 0.1 with a database that has the same records.

    After a crash, the file is either the old journal or the whole new one.
    """
    new = path.with_name(path.name + ".new")
    for leftover in (new, new.with_name(new.name + "-journal")):
        leftover.unlink(missing_ok=True)
    records = _records_of_version_0_1(path.read_bytes().splitlines())
    with closing(_open(new)) as database, database:
        for run_id, record in records.items():
            _write(database, run_id, record)
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _records_of_version_0_1(lines: Iterable[bytes]) -> dict[str, Record]:
    """Reads one event a line. A line that a crash cut off is dropped, because the relay never
    received the event in that line."""
    records: dict[str, Record] = {}
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            logger.warning("the journal of version 0.1 has a line that was cut off; it is dropped")
            continue
        run_id = event["dispatch_id"]
        match event["event"]:
            case "started":
                records.setdefault(run_id, Record()).starts += 1
            case "finished":
                record = records.setdefault(run_id, Record())
                record.lease_id, record.result = event["lease_id"], event["result"]
            case "confirmed":
                records.pop(run_id, None)
    return records
