"""A backup is for its owner alone, is complete and says what it contains."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from accounts.models import Team
from database.clock import database_now
from wake.models import LastBackup

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def careless_umask() -> Iterator[None]:
    """Makes new files open to everyone unless the program says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def back_up(folder: Path) -> Path:
    """Returns the copy that the command names."""
    output = StringIO()
    call_command("backup", str(folder), stdout=output)
    return Path(output.getvalue().strip())


def test_only_its_owner_can_read_a_backup(tmp_path: Path, careless_umask: None) -> None:
    back_up(tmp_path / "backup")

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("backup/*")}
    assert stat.S_IMODE((tmp_path / "backup").stat().st_mode) == 0o700
    assert len(modes) == 2
    assert set(modes.values()) == {0o600}


def test_a_backup_contains_the_rows_and_a_manifest(tmp_path: Path, team: Team) -> None:
    copy = back_up(tmp_path / "backup")

    manifest = json.loads((tmp_path / "backup/manifest.json").read_text())
    assert manifest["sha256"] == hashlib.sha256(copy.read_bytes()).hexdigest()
    assert manifest["migrations"]["accounts"] >= "0010"
    assert manifest["database"] == connection.vendor
    assert team.name in _names_of_teams(copy)


def test_the_last_backup_is_recorded(tmp_path: Path) -> None:
    back_up(tmp_path / "monday")
    copy = back_up(tmp_path / "tuesday")

    last = LastBackup.objects.get()
    assert (last.folder, last.size) == (str(tmp_path / "tuesday"), copy.stat().st_size)


def test_the_backup_of_another_program_is_recorded(tmp_path: Path) -> None:
    back_up(tmp_path / "monday")
    before = database_now()
    call_command("backup", "--record", "pgBackRest")

    last = LastBackup.objects.get()
    assert (last.program, last.folder, last.size) == ("pgBackRest", "", None)
    assert last.finished_at >= before

    back_up(tmp_path / "tuesday")
    assert LastBackup.objects.get().program == ""


def test_a_backup_may_be_recorded_afterwards() -> None:
    call_command("backup", "--record", "RDS", "--at", "2026-11-01T09:30:00Z")

    assert LastBackup.objects.get().finished_at == datetime(2026, 11, 1, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "Name a new folder, or use --manifest or --record"),
        (["folder", "--record", "RDS"], "Name a new folder, or use --manifest or --record"),
        (["--at", "2026-11-01T09:30:00Z"], "Name a new folder"),
        (["--manifest", "--at", "2026-11-01T09:30:00Z"], "--at belongs to --record"),
        (["--record", "RDS", "--at", "2026-11-01T09:30:00"], "has no time zone"),
        (["--record", "RDS", "--at", "yesterday"], "is not a time"),
        (["--record", "RDS", "--at", "2926-11-01T09:30:00Z"], "is in the future"),
    ],
)
def test_a_record_that_says_too_little_or_too_much_is_refused(
    arguments: list[str], reason: str
) -> None:
    with pytest.raises(CommandError, match=reason):
        call_command("backup", *arguments)

    assert not LastBackup.objects.exists()


def _names_of_teams(copy: Path) -> str:
    if connection.vendor == "sqlite":
        return str(sqlite3.connect(copy).execute("SELECT name FROM accounts_team").fetchall())
    return subprocess.run(
        ["pg_restore", "--data-only", "--table=accounts_team", "--file=-", str(copy)],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_an_earlier_backup_is_not_overwritten(tmp_path: Path) -> None:
    copy = back_up(tmp_path / "backup")
    before = copy.read_bytes()

    with pytest.raises(CommandError, match="Name a folder that is new"):
        back_up(tmp_path / "backup")

    assert copy.read_bytes() == before


def test_a_backup_that_fails_leaves_nothing_that_looks_like_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("about pg_dump")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(CommandError, match="pg_dump is not installed"):
        back_up(tmp_path / "backup")

    assert not (tmp_path / "backup").exists()
