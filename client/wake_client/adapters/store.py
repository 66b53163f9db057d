"""Records in SQLite which calls people were asked about, so that a restarted program finds the
answers, and so that no approval is used twice."""

from __future__ import annotations

import json
import os
import sqlite3
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wake_client.adapters.calls import ToolCall, digest_of
from wake_client.adapters.verdicts import Verdict
from wake_client.answers import Receipt

# How long one process waits for another one to end its transaction.
PATIENCE_SECONDS = 30.0
# The state of a call. The row is written before the request that asks. Only one process changes
# USING to RUNNING, and only that process runs the tool.
ASKED, ANSWERED, USING, RUNNING = "asked", "answered", "using", "running"
DONE, FAILED = "done", "failed"
SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given to another row, unlike a rowid
    framework TEXT NOT NULL,
    thread TEXT NOT NULL,
    call_id TEXT NOT NULL,
    digest TEXT NOT NULL,          -- of the tool and the arguments that people were asked about
    tool TEXT NOT NULL,
    key TEXT NOT NULL,             -- the beginning of the Idempotency-Key of the question
    state TEXT NOT NULL,
    delivery_id TEXT,
    content_digest TEXT,           -- what people see; NULL if the server has no claims
    waits INTEGER NOT NULL DEFAULT 0,
    since TEXT,                    -- the next sweep begins here
    verdict TEXT,
    allowed_digest TEXT,           -- of the tool and the arguments that may run
    claim_key TEXT,
    resumed INTEGER NOT NULL DEFAULT 0,
    reported INTEGER NOT NULL DEFAULT 0,
    UNIQUE (framework, thread, call_id, digest)
);
CREATE TABLE IF NOT EXISTS runs (
    framework TEXT NOT NULL,
    thread TEXT NOT NULL,
    state TEXT NOT NULL,           -- the paused run, in the form of its framework
    PRIMARY KEY (framework, thread)
);
CREATE TABLE IF NOT EXISTS owner (agent_id TEXT NOT NULL);
"""
OTHER_OWNER = "{path} has the questions of the agent {other}. Give each agent a file of its own."


COLUMNS = (
    "id, framework, thread, call_id, digest, tool, key, state, delivery_id,"
    " content_digest, waits, since, verdict, claim_key"
)
OF_THE_CALL = "framework = ? AND thread = ? AND call_id = ?"
OF_THE_FRAMEWORK = "(? IS NULL OR framework = ?)"


@dataclass(frozen=True, slots=True)
class Row:
    """Holds one call as the table has it."""

    id: int
    framework: str
    thread: str
    call_id: str
    digest: str
    tool: str
    key: str
    state: str
    delivery_id: str | None
    content_digest: str | None
    waits: bool
    since: str | None
    verdict: Verdict | None
    claim_key: str | None


@dataclass(frozen=True, slots=True)
class AnsweredRun:
    """Holds a run whose calls are all answered, with the verdict of each by its `call_id`.
    `state` is what save() stored."""

    framework: str
    thread: str
    verdicts: dict[str, Verdict]
    state: str | None
    rows: tuple[int, ...]


class Store:
    """Reads and writes the file of one agent. Several processes and threads may use it at the same
    time. Each method is one transaction. Raises sqlite3.Error or OSError, and ValueError for the
    file of another agent, whose answers the sweeps of this agent would pass over."""

    def __init__(self, path: str | os.PathLike[str], agent_id: str) -> None:
        self.path = Path(path)
        # SQLite gives its journal the mode of the file.
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        with closing(self._connect()) as database:
            database.executescript(SCHEMA)
        with self._transaction() as database:
            owner = database.execute("SELECT agent_id FROM owner").fetchone()
            if owner is None:
                database.execute("INSERT INTO owner (agent_id) VALUES (?)", (agent_id,))
            elif owner[0] != agent_id:
                raise ValueError(OTHER_OWNER.format(path=self.path, other=owner[0]))

    def begin(self, call: ToolCall) -> Row:
        """Returns the row of a call, whose run now waits for it. Writes the row if it is new, or if
        its question was withdrawn."""
        place = (call.framework, call.thread, call.call_id, call.digest)
        with self._transaction() as database:
            row = _one(database, f"{OF_THE_CALL} AND digest = ?", *place)
            if row and row.verdict and row.verdict.withdrawn:
                database.execute("DELETE FROM calls WHERE id = ?", (row.id,))
                row = None
            if row is not None:
                database.execute("UPDATE calls SET resumed = 0 WHERE id = ?", (row.id,))
                return row
            database.execute(
                "INSERT INTO calls (framework, thread, call_id, digest, tool, key, state)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*place, call.tool, str(uuid.uuid4()), ASKED),
            )
            (row,) = _all(database, f"{OF_THE_CALL} AND digest = ?", *place)
            return row

    def others(self, row: Row) -> list[Row]:
        """Returns the questions about other arguments of the same call, for which its run waits."""
        others = f"{OF_THE_CALL} AND id <> ? AND NOT resumed"
        with self._transaction() as database:
            return _all(database, others, row.framework, row.thread, row.call_id, row.id)

    def replace(self, row: Row, verdict: Verdict | None) -> None:
        """Stops waiting for a question, and stores its verdict if there is one."""
        with self._transaction() as database:
            if verdict is not None:
                _decide(database, row, verdict)
            database.execute("UPDATE calls SET resumed = 1 WHERE id = ?", (row.id,))

    def delivered(self, row: Row, receipt: Receipt, *, waits: bool) -> None:
        self._update(
            row,
            delivery_id=receipt.delivery_id,
            content_digest=receipt.digest,
            waits=waits or receipt.must_wait,
            since=_instant(receipt.created_at),
        )

    def find(self, call: ToolCall) -> Row | None:
        """Returns the row of a call with exactly these arguments."""
        place = (call.framework, call.thread, call.call_id, call.digest)
        with self._transaction() as database:
            return _one(database, f"{OF_THE_CALL} AND digest = ?", *place)

    def find_allowed(self, call: ToolCall) -> Row | None:
        """Returns the row that allows a call with exactly these arguments: those that people were
        asked about, or those of a person's edit. If people were asked about the arguments of an
        edit once more, only their last answer counts."""
        place = (call.framework, call.thread, call.call_id, call.digest)
        with self._transaction() as database:
            last = _one(database, f"{OF_THE_CALL} AND ? IN (digest, allowed_digest)", *place)
            allowed = _one(database, f"{OF_THE_CALL} AND allowed_digest = ?", *place)
        return allowed if allowed == last else None

    def went_on(self, call: ToolCall) -> None:
        """Stops waiting for a call."""
        row = self.find(call)
        if row is not None:
            self.replace(row, None)

    def find_running(self, call: ToolCall) -> Row | None:
        """Returns the row of a call whose tool runs, with any arguments: the framework may name
        those that it has added itself."""
        place = (call.framework, call.thread, call.call_id)
        with self._transaction() as database:
            return _one(database, f"{OF_THE_CALL} AND state = ?", *place, RUNNING)

    def is_known(self, call: ToolCall) -> bool:
        """Returns whether people were asked about a call of this id, with any arguments."""
        place = (call.framework, call.thread, call.call_id)
        with self._transaction() as database:
            return bool(_all(database, OF_THE_CALL, *place))

    def decide(self, row: Row, verdict: Verdict) -> Verdict:
        """Stores the verdict, unless there is one. Returns the stored verdict. Stores nothing if
        another process has asked again meanwhile."""
        with self._transaction() as database:
            _decide(database, row, verdict)
            stored = _one(database, "id = ?", row.id)
        return stored.verdict or verdict if stored else verdict

    def waiting(self, framework: str | None = None) -> list[Row]:
        """Returns the delivered calls without a verdict."""
        is_open = "verdict IS NULL AND delivery_id IS NOT NULL AND NOT resumed"
        with self._transaction() as database:
            return _all(database, f"{is_open} AND {OF_THE_FRAMEWORK}", framework, framework)

    def swept(self, verdicts: Iterable[tuple[Row, Verdict]], rows: list[Row], since: str) -> None:
        """Stores the verdicts of one page together with the place where the next page begins."""
        with self._transaction() as database:
            for row, verdict in verdicts:
                _decide(database, row, verdict)
            database.executemany(
                "UPDATE calls SET since = max(since, ?) WHERE id = ?",
                [(_instant(datetime.fromisoformat(since)), row.id) for row in rows],
            )

    def answered(self, framework: str | None = None) -> list[AnsweredRun]:
        """Returns the runs that wait for no answer any more and were not resumed yet."""
        with self._transaction() as database:
            rows = _all(database, f"NOT resumed AND {OF_THE_FRAMEWORK}", framework, framework)
            stored = database.execute("SELECT framework, thread, state FROM runs").fetchall()
        states = {(name, thread): state for name, thread, state in stored}
        runs: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            runs.setdefault((row.framework, row.thread), []).append(row)
        return [
            AnsweredRun(
                *run,
                {row.call_id: row.verdict for row in calls if row.verdict},
                states.get(run),
                tuple(row.id for row in calls),
            )
            for run, calls in runs.items()
            if all(row.verdict for row in calls)
        ]

    def resumed(self, run: AnsweredRun) -> None:
        """Records that a run went on, so that it is not resumed again."""
        with self._transaction() as database:
            ids = [(id,) for id in run.rows]
            database.executemany("UPDATE calls SET resumed = 1 WHERE id = ?", ids)
            database.execute(
                "DELETE FROM runs WHERE framework = ? AND thread = ? AND NOT EXISTS (SELECT 1"
                " FROM calls WHERE calls.framework = runs.framework"
                " AND calls.thread = runs.thread AND NOT resumed)",
                (run.framework, run.thread),
            )

    def save(self, framework: str, thread: str, state: str) -> None:
        """Stores a paused run, for a framework that has no store of its own."""
        with self._transaction() as database:
            database.execute(
                "INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", (framework, thread, state)
            )

    def unasked(self, framework: str) -> dict[str, str]:
        """Returns the saved runs with a call that people were not asked about, by thread."""
        call = "SELECT 1 FROM calls WHERE framework = runs.framework AND thread = runs.thread"
        no_call, no_delivery = (
            f"NOT EXISTS ({call} AND NOT resumed)",
            f"EXISTS ({call} AND NOT resumed AND delivery_id IS NULL AND verdict IS NULL)",
        )
        with self._transaction() as database:
            found = database.execute(
                "SELECT thread, state FROM runs WHERE framework = ?"  # noqa: S608
                f" AND ({no_call} OR {no_delivery})",
                (framework,),
            )
            return {row["thread"]: row["state"] for row in found}

    def saved(self, framework: str, thread: str) -> str | None:
        """Returns the paused run, or None."""
        with self._transaction() as database:
            row = database.execute(
                "SELECT state FROM runs WHERE framework = ? AND thread = ?", (framework, thread)
            ).fetchone()
        return row and str(row["state"])

    def begin_use(self, row: Row) -> Row:
        """Gives an approval that was not used yet the Idempotency-Key of its claim. All tries of
        one use have one key."""
        with self._transaction() as database:
            database.execute(
                "UPDATE calls SET state = ?, claim_key = ? WHERE id = ? AND state = ?",
                (USING, str(uuid.uuid4()), row.id, ANSWERED),
            )
            (row,) = _all(database, "id = ?", row.id)
            return row

    def start(self, row: Row) -> bool:
        """Returns whether this process runs the tool. Only one process ever gets True."""
        with self._transaction() as database:
            changed = database.execute(
                "UPDATE calls SET state = ? WHERE id = ? AND state = ?",
                (RUNNING, row.id, USING),
            )
            return changed.rowcount == 1

    def refuse(self, row: Row, verdict: Verdict) -> None:
        """Stores a denial in place of an approval that the server does not let us use."""
        self._update(row, verdict=json.dumps(asdict(verdict)))

    def end(self, row: Row, state: str) -> Row:
        self._update(row, state=state)
        return replace(row, state=state)

    def unreported(self) -> list[Row]:
        """Returns the calls that ended without a report to people."""
        ended = "state IN (?, ?) AND NOT reported AND content_digest IS NOT NULL"
        with self._transaction() as database:
            return _all(database, ended, DONE, FAILED)

    def reported(self, row: Row) -> None:
        self._update(row, reported=True)

    def _update(self, row: Row, **values: Any) -> None:
        names = ", ".join(f"{name} = ?" for name in values)
        with self._transaction() as database:
            database.execute(
                f"UPDATE calls SET {names} WHERE id = ?",  # noqa: S608 - names of this module
                (*values.values(), row.id),
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with closing(self._connect()) as database:
            database.execute("BEGIN IMMEDIATE")
            with database:
                yield database

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=PATIENCE_SECONDS, isolation_level=None)
        database.row_factory = sqlite3.Row
        database.execute("PRAGMA secure_delete = ON")
        return database


def _decide(database: sqlite3.Connection, row: Row, verdict: Verdict) -> None:
    allowed = {
        "allow": row.digest,
        "edit": digest_of(row.tool, verdict.arguments or {}),
        "deny": None,
    }
    database.execute(
        "UPDATE calls SET verdict = ?, allowed_digest = ?, state = ?"
        " WHERE id = ? AND verdict IS NULL",
        (json.dumps(asdict(verdict)), allowed[verdict.decision], ANSWERED, row.id),
    )


def _one(database: sqlite3.Connection, condition: str, *values: Any) -> Row | None:
    rows = _all(database, condition, *values)
    return rows[-1] if rows else None


def _all(database: sqlite3.Connection, condition: str, *values: Any) -> list[Row]:
    """Returns the rows in the order in which they were written."""
    select = f"SELECT {COLUMNS} FROM calls WHERE {condition} ORDER BY id"  # noqa: S608
    return [_row(values) for values in database.execute(select, values)]


def _row(values: sqlite3.Row) -> Row:
    given: dict[str, Any] = dict(values)
    verdict = given["verdict"]
    given |= {"waits": bool(given["waits"]), "verdict": verdict and Verdict(**json.loads(verdict))}
    return Row(**given)


def _instant(time: datetime) -> str:
    """Returns a time in the one form in which texts sort as times do."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")
