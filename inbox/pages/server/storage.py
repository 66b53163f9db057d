"""Describes what the server stores: versions, migrations, disks, backups and the log."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.db import connection

from accounts.log.checkpoints import checkpoints
from accounts.models import CheckpointSending
from database.postgresql import replica
from database.schema.pending import pending_migrations
from inbox.notifications.checkpoints import sending
from inbox.pages.server.subjects import (
    BACKUPS,
    CHECKPOINTS,
    LOG,
    RECOVERY,
    REPLICA,
    UPGRADE,
    WRONG,
    Concern,
    Subject,
)
from inbox.pages.server.work import counted
from pages.sizes import size
from pages.times import amount, when
from wake.management.backups import wake_version
from wake.models import LastBackup
from wake.server.health import broker, disks
from wake.server.health.archive import Archive
from wake.server.metrics import figures

# Returns an object with `free` and `total`, in bytes.
DiskUsage = Callable[[Path], Any]

OLD_BACKUP = timedelta(days=7)
LOW_SHARE = 0.1
# New events are in the log within seconds. So many without an entry mean that it stands still.
MANY_EVENTS = 1_000
RECORD = "Let the program that makes it run manage.py backup --record PROGRAM afterwards."
BACK_UP = (
    "Run manage.py backup FOLDER every day, and keep the encryption keys elsewhere. If another "
    "program makes the backups, let it run manage.py backup --record PROGRAM after each."
)


def version_subject() -> Subject:
    rows = {
        "Wake": wake_version(),
        "Python": platform.python_version(),
        "Django": django.get_version(),
        **_database_version(),
    }
    if settings.REDIS_URL:
        rows["Redis"] = broker.redis_version() or "unknown"
    if settings.WAKE_USES_RABBITMQ:
        rows["RabbitMQ"] = broker.rabbitmq_version() or "unknown"
    problems, migrations = [], pending_migrations()
    if migrations:
        names = ", ".join(f"{each.app_label} {each.name}" for each in migrations)
        text = f"Migrations have not run: {names}."
        problems = [Concern(text, "Run manage.py migrate.", UPGRADE)]
    sentences = [] if migrations else ["All migrations have run."]
    return Subject("versions", "Versions", sentences, problems, ("Part", "Version"), rows)


def _database_version() -> dict[str, str]:
    if connection.vendor == "sqlite":
        return {"SQLite": sqlite3.sqlite_version}
    major, minor = divmod(connection.pg_version, 10_000)  # type: ignore[attr-defined]
    through = ", through PgBouncer" if settings.WAKE_DATABASE_POOLED else ""
    return {"PostgreSQL": f"{major}.{minor}{through}"}


def replica_subjects() -> list[Subject]:
    """Returns the subject of the replica as this web process sees it, or nothing without one."""
    if not replica.is_configured():
        return []
    status = replica.status()
    behind = "" if status.lag is None else f" It is at most {status.lag:.0f} s behind."
    text = f"{status.state}{behind}"
    if status.state == replica.State.IN_USE:
        return [Subject("replica", "Replica", [text])]
    action = "Nothing is missing on pages. Look whether the replica runs and follows the primary."
    return [Subject("replica", "Replica", [], [Concern(text, action, REPLICA)])]


def disk_subject(disk_usage: DiskUsage) -> Subject:
    sentences, problems = [], []
    for disk, state in disks.disks().items():
        if state == "full":
            text = f"The disk of the {disk} is full. Stored data can be read, and nothing is saved."
            problems.append(Concern(text, "Make room, or enlarge the disk.", WRONG))
    if connection.vendor == "postgresql" and not problems:
        sentences.append(
            "The database can write. Wake cannot see how much room its disk has: watch it there."
        )
    if disks.uses_data_folder() and settings.WAKE_DATA.exists():
        usage = disk_usage(settings.WAKE_DATA)
        sentences.append(
            f"The disk of the data folder has {size(usage.free)} of {size(usage.total)} free."
        )
        if usage.free < LOW_SHARE * usage.total and not problems:
            text = f"The disk of the data folder is nearly full: {size(usage.free)} are free."
            problems.append(Concern(text, "Make room, or enlarge the disk.", WRONG))
    return Subject("disks", "Disks", sentences, problems)


def backup_subject(at: datetime, archive: Archive | None) -> Subject:
    sentences, problems = [], []
    last = LastBackup.objects.first()
    if last is not None:
        done = when(last.finished_at, now=at)
        sentences.append(
            f"{last.program} reported a backup {done}."
            if last.size is None
            else f"manage.py backup copied {size(last.size)} to {last.folder} {done}."
        )
        if at - last.finished_at > OLD_BACKUP:
            text = f"The last backup is {amount(at - last.finished_at)} old."
            problems.append(Concern(text, BACK_UP, BACKUPS))
    archived_at = archive and archive.archived_at
    if archived_at:
        sentences.append(f"PostgreSQL archived its write-ahead log {when(archived_at, now=at)}.")
    if last is None and archived_at and at - archived_at <= OLD_BACKUP:
        sentences.append(f"Wake does not know when the last base backup was made. {RECORD}")
    elif last is None:
        problems.append(Concern("Wake does not know of a backup.", BACK_UP, BACKUPS))
    if archive and archive.is_failing:
        action = "Look at the log of PostgreSQL. It keeps the rest of the log on its disk."
        text = "PostgreSQL cannot archive its write-ahead log."
        problems.append(Concern(text, action, RECOVERY))
    return Subject("backup", "Last backup", sentences, problems)


def log_subject(at: datetime) -> Subject:
    problems = []
    outside = int(figures.unchained_events(at)[()])
    if outside >= MANY_EVENTS:
        text = f"{counted(outside)} events are not in the log yet."
        action = "Look for “The log cannot be extended” in the log of the workers."
        problems.append(Concern(text, action, LOG))
    newest = checkpoints.newest()
    if newest is None:
        return Subject("log", "Log", ["The log has no checkpoint yet."], problems)
    made = when(newest.made_at, now=at)
    sentences = [f"The last checkpoint has {newest.size:,} entries. It was made {made}."]
    rows = {}
    for row in _newest_sendings():
        place = f"{row.get_kind_display()} {row.name}".strip()
        rows[place] = _outcome(row, at)
        if row.due_at is not None and row.error:
            text = f"{place}: the checkpoint does not arrive: {row.error}"
            action = "Repair the destination. Wake tries again by itself."
            problems.append(Concern(text, action, CHECKPOINTS))
    if not rows:
        sentences.append("Checkpoints are sent nowhere, so only this server has them.")
    return Subject("log", "Log", sentences, problems, ("Sent to", "Last checkpoint"), rows)


def _newest_sendings() -> list[CheckpointSending]:
    """Returns the newest row of each configured destination. A server has few of them."""
    newest = (
        CheckpointSending.objects.filter(kind=kind, name=name).order_by("-checkpoint").first()
        for kind, name in sending.configured()
    )
    return [row for row in newest if row is not None]


def _outcome(row: CheckpointSending, at: datetime) -> str:
    if row.sent_at is not None:
        return f"Arrived {when(row.sent_at, now=at)}, with {row.checkpoint_id:,} entries."
    if row.due_at is not None:
        return f"Not sent yet. Attempts so far: {row.attempts}."
    return f"Given up: {row.error}"
