"""An entry after the end of the log stops the log. The log line says so, and docs/operations.md
says how to repair it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from accounts.audit import SYSTEM, record
from accounts.log import signed_tree, sweep
from accounts.log.verification import Broken, verify, verify_team
from accounts.models import (
    AuditCheckpoint,
    AuditEvent,
    LogEntry,
    LogTeam,
    LogTile,
    LogTree,
    LogWaiting,
    Team,
)
from tests.documents.blocks import documented
from tests.wake.callbacks.world import HOME

AT = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)
OPERATIONS = (HOME / "docs/operations.md").read_text()
Tamper = Callable[..., None]


@pytest.fixture
def forged(logged: int, team: Team) -> LogEntry:
    """Adds a forged entry at the next index, for one of two new events."""
    _light(team, times=2)
    return _forge(team, index=9, number=8)


def _forge(team: Team, *, index: int, number: int) -> LogEntry:
    return LogEntry.objects.create(
        index=index,
        team_id=team.pk,
        number=number,
        kind="event",
        event_id=AuditEvent.objects.latest("pk").pk,
        salt=b"",
        sha256=b"",
        hash=b"",
        appended_at=AT,
    )


def _light(team: Team, *, times: int) -> None:
    for _ in range(times):
        record("lamp.lit", by=SYSTEM, of=team, team=team)


def _audit_verify(*options: str) -> str:
    output = StringIO()
    call_command("audit_verify", *options, stdout=output)
    return output.getvalue()


def _run_the_manuals_repair(entry: LogEntry) -> None:
    """Runs the manual's Python commands with the number of this entry."""
    look = documented("docs/operations.md", "print(LogTree.objects.values())")
    repair = documented("docs/operations.md", "append_only.unguard(connection)")
    for commands in (look, repair):
        _run_in_the_shell(commands.replace("pk=57", f"pk={entry.pk}"))


def _run_in_the_shell(commands: str) -> None:
    """Runs what a here-document of the manual gives to `manage.py shell`."""
    program = commands.partition("<<'END'\n")[2].removesuffix("END\n")
    exec(program, {})  # noqa: S102 - our own document


def test_the_log_names_the_entry_in_one_line(
    forged: LogEntry, caplog: pytest.LogCaptureFixture
) -> None:
    assert sweep.append_new(at=AT) == 0

    (line,) = [record for record in caplog.records if record.name == "accounts.log.sweep"]
    assert line.levelname == "CRITICAL"
    assert line.exc_info is None
    assert line.getMessage() == (
        f"The log cannot be extended: entry 9 (of event {forged.event_id}, number 8, team "
        f"{forged.team_id}) stands after its end. All events are kept and wait; "
        "docs/operations.md, An entry after the end, says what to do"
    )
    assert "### An entry after the end\n" in OPERATIONS


def test_the_manuals_repair_logs_every_event(forged: LogEntry) -> None:
    sweep.append_new(at=AT)

    _run_the_manuals_repair(forged)

    assert sweep.append_new(at=AT) == 2
    assert verify().size == 11
    assert verify_team(forged.team_id) == range(1, 10)
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        LogEntry.objects.all().delete()


def test_an_event_below_the_checkpoint_is_logged_later(logged: int, team: Team) -> None:
    _light(team, times=1)
    forged = _forge(team, index=1000, number=1000)
    _light(team, times=1)
    assert sweep.append_new(at=AT) == 1
    assert AuditCheckpoint.objects.get().event_id > (forged.event_id or 0)

    _run_the_manuals_repair(forged)
    sweep.append_new(at=AT)

    assert verify().waiting == 0
    assert LogEntry.objects.get(event_id=forged.event_id).index == 10


def _same(caplog: pytest.LogCaptureFixture) -> str:
    """Reads the only line of the log, and returns what two entries would have in common."""
    (line,) = [record for record in caplog.records if record.name == "accounts.log.sweep"]
    assert (line.levelname, line.exc_info) == ("CRITICAL", None)
    found = re.fullmatch(
        r"The log cannot be extended: the next entry would have the same (.*)\. All events are "
        r"kept and wait; docs/operations.md, An entry that is there already, says what to do",
        line.getMessage(),
    )
    assert found
    assert "### An entry that is there already\n" in OPERATIONS
    return found[1]


def test_a_number_of_a_team_that_was_set_back_is_named_and_repaired(
    logged: int, team: Team, caplog: pytest.LogCaptureFixture
) -> None:
    LogTeam.objects.update(number=2)
    _light(team, times=1)

    assert sweep.append_new(at=AT) == 0

    there = LogEntry.objects.get(team_id=team.pk, number=3)
    assert _same(caplog) == f"number as {sweep.described(there)}"
    _audit_verify("--count-again")
    assert sweep.append_new(at=AT) == 1
    assert verify().size == 10


def test_a_receipt_that_waits_twice_is_named_and_repaired(
    logged: int, team: Team, caplog: pytest.LogCaptureFixture
) -> None:
    waits = {"kind": LogEntry.RECEIPT, "object_id": uuid4(), "sha256": b"1" * 32}
    LogWaiting.objects.create(team_id=team.pk, **waits)
    assert sweep.append_new(at=AT) == 1
    LogWaiting.objects.create(team_id=team.pk, **waits)

    assert sweep.append_new(at=AT) == 0

    assert _same(caplog) == f"receipt as {sweep.described(LogEntry.objects.get(kind='receipt'))}"
    _run_in_the_shell(documented("docs/operations.md", 'logged.values("receipt_id")'))
    _light(team, times=1)
    assert sweep.append_new(at=AT) == 1


def test_a_log_that_was_set_back_is_restored_from_its_entries(logged: int, team: Team) -> None:
    whole = verify().head
    LogTree.objects.update(size=5)
    _light(team, times=1)
    assert sweep.append_new(at=AT) == 0
    with pytest.raises(Broken, match="stands after the end of the log"):
        verify()

    _audit_verify("--count-again", "--head", whole)

    assert signed_tree.head(signed_tree.stored()) == whole
    assert sweep.append_new(at=AT) == 1
    assert "10 entries, unbroken" in _audit_verify("--head", whole)


@pytest.mark.parametrize(
    "change", ["DELETE FROM accounts_logtile", "UPDATE accounts_logtile SET hashes = %s"]
)
def test_damaged_tiles_are_computed_again(
    logged: int, team: Team, tamper: Tamper, caplog: pytest.LogCaptureFixture, change: str
) -> None:
    whole = verify().head
    tamper(change, *([b"\1" * 64] if "%s" in change else []))
    _light(team, times=1)
    assert sweep.append_new(at=AT) == 0
    assert "a tile is missing or too short" in caplog.text
    with pytest.raises(CommandError, match="tampered with"):
        _audit_verify()

    _audit_verify("--count-again")

    assert signed_tree.head(signed_tree.stored()) == whole
    assert sweep.append_new(at=AT) == 1


def test_a_repair_signs_nothing_that_does_not_verify(logged: int, tamper: Tamper) -> None:
    tamper("UPDATE accounts_auditevent SET actor_name = 'mallory'")
    before = LogTile.objects.values_list("pk", "hashes").get(), LogTree.objects.values().get()

    with pytest.raises(CommandError, match="Entry 0: event"):
        _audit_verify("--count-again")
    tamper('DELETE FROM accounts_logentry WHERE "index" = 3')
    with pytest.raises(CommandError, match="An entry of the log is missing"):
        _audit_verify("--count-again")

    assert before == (
        LogTile.objects.values_list("pk", "hashes").get(),
        LogTree.objects.values().get(),
    )


def test_another_error_is_reported_unchanged(
    logged: int, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    _light(team, times=1)
    # The database refuses an entry of an unknown kind. No event leads to such an entry.
    monkeypatch.setattr(LogEntry, "EVENT", "lamp")

    with pytest.raises(IntegrityError):
        sweep.append_new(at=AT)
