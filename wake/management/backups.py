"""Copies the database into a new folder, with a manifest of the copy's contents.

Only the owner of the files can read them: they contain what the database contains.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import sqlite3
import subprocess
import tomllib
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import Error, connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from accounts.log import manifest as log_manifest
from database.clock import database_now
from database.schema.pending import pending_migrations
from wake.models import LastBackup

log = logging.getLogger(__name__)

MANIFEST = "manifest.json"
COPIES = {"postgresql": "wake.dump", "sqlite": "wake.sqlite3"}


class BackupFailed(Exception):
    """The database was not copied; the message says why."""


class NotYet(Exception):
    """A backup cannot have been finished in the future."""


def back_up(folder: Path) -> dict[str, Any]:
    """Returns the manifest. Raises BackupFailed, and then leaves nothing behind. The manifest is
    written last, so a folder without one is not a backup."""
    try:
        folder.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise BackupFailed(f"{folder}: {error.strerror}. Name a folder that is new.") from error
    try:
        copy = folder / COPIES[connection.vendor]
        # Read before the copy, which then contains at least the contents of the manifest.
        manifest = contents()
        copy.touch(mode=0o600)
        COPY_TO[connection.vendor](copy)
        with copy.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        manifest |= {"file": copy.name, "sha256": digest}
        (folder / MANIFEST).touch(mode=0o600)
        (folder / MANIFEST).write_text(text_of(manifest))
    except BaseException as error:
        shutil.rmtree(folder)
        if isinstance(error, OSError | sqlite3.Error):
            raise BackupFailed(str(error)) from error
        raise
    _record_own(copy)
    return manifest


def record(program: str, *, finished_at: datetime | None = None) -> None:
    """Records a backup that another program has made, now or at `finished_at`. Raises NotYet."""
    now = database_now()
    if finished_at is not None and finished_at > now:
        raise NotYet(f"{finished_at.isoformat()} is in the future.")
    row = {"finished_at": finished_at or now, "program": program, "folder": "", "size": None}
    LastBackup.objects.update_or_create(pk=1, defaults=row)


def _record_own(copy: Path) -> None:
    """Records the backup for the page Settings, Server. The copy is complete, so an error is only
    logged, such as that of a database without room for the row."""
    row = {
        "finished_at": database_now(),
        "program": "",
        "folder": str(copy.parent.resolve()),
        "size": copy.stat().st_size,
    }
    try:
        with transaction.atomic():
            LastBackup.objects.update_or_create(pk=1, defaults=row)
    except Error as error:
        log.warning("The backup is complete, but Settings, Server does not show it: %s", error)


def contents() -> dict[str, Any]:
    """Returns the minimum contents of a copy that is made afterwards. Raises BackupFailed if this
    version cannot read the log of the database."""
    return {
        "version": wake_version(),
        "made_at": database_now().isoformat(),
        "database": connection.vendor,
        "audit": _signed_log(),
        "migrations": newest_migrations(),
    }


def _signed_log() -> dict[str, Any]:
    try:
        return log_manifest.signed()
    except Error as error:
        if not pending_migrations():
            raise
        raise BackupFailed(
            "The database is older than this version. Run `backup` of the version of the servers."
        ) from error


def text_of(manifest: dict[str, Any]) -> str:
    return json.dumps(manifest, indent=2) + "\n"


def wake_version() -> str:
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def newest_migrations() -> dict[str, str]:
    """Returns the newest migration of each app in the database. The name of a migration begins with
    its number."""
    return dict(sorted(MigrationRecorder(connection).applied_migrations()))


def _dump_postgresql(copy: Path) -> None:
    arguments, environment = connection.client.settings_to_cmd_args_env(
        connection.direct_settings,  # type: ignore[attr-defined]
        ["--format=custom", "--no-password"],
    )
    try:
        with copy.open("wb") as file:
            done = subprocess.run(  # noqa: S603 - the settings' own
                ["pg_dump", *arguments[1:]],  # noqa: S607 - the operator's PATH says which version
                env={**os.environ, **(environment or {})},
                stdout=file,
                stderr=subprocess.PIPE,
                check=False,
            )
    except FileNotFoundError as error:
        raise BackupFailed("pg_dump is not installed here, or not in PATH.") from error
    if done.returncode:
        raise BackupFailed(done.stderr.decode(errors="replace").strip())


def _dump_sqlite(copy: Path) -> None:
    """Also copies the content of the `-wal` file. SQLite accepts an empty file as its target."""
    with closing(sqlite3.connect(connection.settings_dict["NAME"])) as database:
        database.execute("VACUUM INTO ?", [str(copy)])


COPY_TO = {"postgresql": _dump_postgresql, "sqlite": _dump_sqlite}
