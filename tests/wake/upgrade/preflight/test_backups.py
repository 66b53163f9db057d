"""Preflight finds the last backup, and says how old it is and whether a further one has room."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from database.clock import database_now
from wake.management import backups
from wake.management.preflight.findings import Level
from wake.management.preflight.room import last_backup
from wake.models import LastBackup
from wake.server.health.archive import wal_archive

pytestmark = pytest.mark.django_db


def made(folder: Path, *, hours_ago: float, **changes: Any) -> Path:
    """Writes what `manage.py backup` would have written."""
    folder.mkdir(parents=True)
    (folder / "wake.copy").write_bytes(b"rows")
    manifest = {
        "made_at": (database_now() - timedelta(hours=hours_ago)).isoformat(),
        "file": "wake.copy",
        "migrations": backups.newest_migrations(),
    }
    (folder / backups.MANIFEST).write_text(json.dumps(manifest | changes))
    return folder


def test_the_newest_of_a_folder_counts(tmp_path: Path) -> None:
    made(tmp_path / "monday", hours_ago=60)
    made(tmp_path / "tuesday", hours_ago=2)

    age, room = last_backup(tmp_path)

    assert age.text == f"The last backup in {tmp_path}/tuesday is 2 h old."
    assert room.text.startswith("A further backup needs about 4 bytes")
    assert age.level == room.level == Level.OK


def test_a_backup_of_days_ago_is_a_warning(tmp_path: Path) -> None:
    age, _ = last_backup(made(tmp_path / "monday", hours_ago=60))

    assert age.level is Level.WARNING
    assert "60 h" in age.text or "2 days" in age.text


def test_a_backup_from_before_other_migrations_is_a_warning(tmp_path: Path) -> None:
    age, _ = last_backup(made(tmp_path / "monday", hours_ago=1, migrations={"wake": "0001"}))

    assert age.level is Level.WARNING
    assert age.text.endswith("It is from before other migrations.")


@pytest.mark.parametrize("missing", ["wake.copy", backups.MANIFEST])
def test_an_incomplete_folder_is_no_backup(missing: str, tmp_path: Path) -> None:
    (made(tmp_path / "monday", hours_ago=1) / missing).unlink()

    (finding,) = last_backup(tmp_path)

    assert finding.level is Level.PROBLEM


def test_a_copy_that_no_disk_holds_twice_is_a_problem(tmp_path: Path) -> None:
    with (made(tmp_path / "monday", hours_ago=1) / "wake.copy").open("r+b") as file:
        file.truncate(10**13)  # the file has a size, and takes no room

    _, room = last_backup(tmp_path)

    assert room.level is Level.PROBLEM
    assert "A further backup needs about 10 TB" in room.text


@pytest.mark.parametrize(("hours", "level"), [(2, Level.OK), (60, Level.WARNING)])
def test_without_a_folder_the_recorded_backup_counts(
    hours: int, level: Level, tmp_path: Path
) -> None:
    at = database_now() - timedelta(hours=hours)
    LastBackup.objects.create(finished_at=at, folder=str(tmp_path), size=4_000)

    age, room = last_backup(None)

    assert age.level is level
    assert age.text.startswith(f"The last backup went to {tmp_path}, and is ")
    assert room.text.startswith("A further backup needs about 4 kB")


def test_the_recorded_backup_of_another_program_counts() -> None:
    at = database_now() - timedelta(hours=2)
    LastBackup.objects.create(finished_at=at, program="pgBackRest")

    (age,) = last_backup(None)

    assert age.text == "The last backup of pgBackRest is 2 h old."


def test_without_a_record_wake_says_what_it_knows() -> None:
    (finding,) = last_backup(None)

    expected = "archived its write-ahead log" if _archives() else "does not know of a backup"
    assert expected in finding.text


def _archives() -> bool:
    archive = wal_archive()
    return archive is not None and archive.archived_at is not None
