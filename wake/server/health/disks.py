"""Checks whether the disks that Wake writes to have room: the disk of the database and the disk of
the data folder."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from django.conf import settings
from django.db import OperationalError, connection, transaction

from database.outages import is_disk_full

FRESH_SECONDS = 10.0
# A write-ahead log of SQLite grows by megabytes while it is in use.
FREE_BYTES = 16 * 1024 * 1024

_full: tuple[float, dict[str, str]] | None = None


def disks() -> dict[str, str]:
    """Returns `ok` or `full` by disk, as of the last ten seconds. Raises the database's error if
    the database is away."""
    global _full  # each process has one value, which is replaced as a whole
    now = time.monotonic()
    if _full is None or now - _full[0] > FRESH_SECONDS:
        _full = now, _check_disks()
    return _full[1]


def uses_data_folder() -> bool:
    return connection.vendor == "sqlite" or not settings.REDIS_URL


def _check_disks() -> dict[str, str]:
    report = {}
    if connection.vendor == "postgresql":
        report["database"] = "ok" if _database_has_room() else "full"
    if uses_data_folder() and settings.WAKE_DATA.exists():
        report["data folder"] = "ok" if _has_room(settings.WAKE_DATA) else "full"
    return report


def _database_has_room() -> bool:
    """Makes PostgreSQL write half a megabyte of temporary files to the disk of Wake's tables. This
    changes no row, writes no log, and needs no permission."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('work_mem', '64kB', true),"
                " set_config('temp_tablespaces', current_setting('default_tablespace'), true)"
            )
            cursor.execute("SELECT count(*) FROM generate_series(1, 50000)")
    except OperationalError as error:
        if is_disk_full(error):
            return False
        raise
    return True


def _has_room(folder: Path) -> bool:
    return shutil.disk_usage(folder).free >= FREE_BYTES
