"""Compares the room that the migrations and a backup need with the room on the disks, and finds how
old the last backup is."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection, transaction

from database.clock import database_now
from pages.sizes import size
from pages.times import amount
from wake.management import backups
from wake.management.preflight.findings import Finding, Level
from wake.management.preflight.forecasts import Forecast
from wake.models import LastBackup
from wake.server.health.archive import wal_archive

OLD_AFTER = timedelta(hours=24)
LOOPBACK = {"", "127.0.0.1", "::1", "localhost"}
# The write-ahead log has a copy of what is written, until it is archived.
COPIES = 2


def disk(plan: Sequence[Forecast]) -> Iterator[Finding]:
    needed = COPIES * sum(forecast.new_bytes for forecast in plan)
    if connection.vendor != "postgresql":
        file = Path(connection.settings_dict["NAME"])
        needed = COPIES * file.stat().st_size if plan else 0  # SQLite copies tables to change them
        yield _of_disk("disk", "The upgrade", needed, settings.WAKE_DATA)
        return
    if not needed:
        yield Finding("disk", Level.OK, "The upgrade needs no room.")
    elif folder := _data_directory():
        yield _of_disk("disk", "The upgrade", needed, folder)
    else:
        yield Finding(
            "disk",
            Level.WARNING,
            f"The upgrade needs about {size(needed)} on the disk of PostgreSQL, which does not "
            "tell this role how much is free. Look with `df` on its machine.",
        )


def last_backup(folder: Path | None) -> Iterator[Finding]:
    """`folder` is a backup, or has backups in it. Without it, the backup counts that the database
    knows, which may be on another machine."""
    if folder is None:
        yield from _recorded() or [_archived() or UNKNOWN]
        return
    found = [each for each in (folder, *sorted(folder.glob("*"))) if _manifest(each)]
    if not found:
        yield Finding("backup", Level.PROBLEM, f"{folder} has no backup of `manage.py backup`.")
        return
    newest = max(found, key=lambda each: datetime.fromisoformat(_manifest(each)["made_at"]))
    manifest = _manifest(newest)
    made_at = datetime.fromisoformat(manifest["made_at"])
    is_before = manifest["migrations"] != backups.newest_migrations()
    yield _of_age(f"in {newest}", database_now() - made_at, is_before=is_before)
    yield _of_disk("backup", "A further backup", (newest / manifest["file"]).stat().st_size, newest)


UNKNOWN = Finding(
    "backup",
    Level.WARNING,
    "Wake does not know of a backup. Name the last one with --backup FOLDER. If another program "
    "makes them, let it run `manage.py backup --record PROGRAM` after each.",
)


def _recorded() -> list[Finding]:
    """Returns findings about the last `manage.py backup`, or none if the database knows of none."""
    try:
        with transaction.atomic():
            last = LastBackup.objects.first()
    except DatabaseError:  # the database is from before the record
        return []
    if last is None:
        return []
    where = f"of {last.program}" if last.program else f"went to {last.folder}, and"
    findings = [_of_age(where, database_now() - last.finished_at)]
    if last.size is not None and (folder := Path(last.folder)).exists():
        findings.append(_of_disk("backup", "A further backup", last.size, folder))
    return findings


def _of_age(where: str, age: timedelta, *, is_before: bool = False) -> Finding:
    is_old = is_before or age > OLD_AFTER
    more = " It is from before other migrations." if is_before else ""
    return Finding(
        "backup",
        Level.WARNING if is_old else Level.OK,
        f"The last backup {where} is {amount(age)} old.{more}",
    )


def _manifest(folder: Path) -> dict[str, Any]:
    """Returns an empty dictionary if the folder is not a complete backup."""
    try:
        manifest: dict[str, Any] = json.loads((folder / backups.MANIFEST).read_text())
    except (OSError, ValueError):
        return {}
    return manifest if (folder / manifest.get("file", "?")).is_file() else {}


def _archived() -> Finding | None:
    """Returns when PostgreSQL last archived a part of its write-ahead log, or None if it has never
    done so."""
    archive = wal_archive()
    if archive is None or archive.archived_at is None:
        return None
    ago = amount(database_now() - archive.archived_at)
    if archive.is_failing:
        text = f"PostgreSQL cannot archive its write-ahead log. The last success was {ago} ago."
        return Finding("backup", Level.WARNING, text)
    return Finding(
        "backup",
        Level.OK,
        f"PostgreSQL archived its write-ahead log {ago} ago. Whether there is a base backup, only "
        "your archive knows.",
    )


def _data_directory() -> Path | None:
    """Returns the folder of PostgreSQL if it is on this machine, and if the role may know it."""
    if connection.direct_settings["HOST"] not in LOOPBACK:  # type: ignore[attr-defined]
        return None
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SHOW data_directory")
            folder = Path(cursor.fetchone()[0])
        os.statvfs(folder)
    except (DatabaseError, OSError):
        return None
    return folder


def _of_disk(part: str, what: str, needed: int, folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    level = Level.OK if free > needed else Level.PROBLEM
    return Finding(
        part, level, f"{what} needs about {size(needed)}, and {folder} has {size(free)} free."
    )
