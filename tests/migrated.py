"""Migrates one database for all processes of a run; a test that needs its own copies it."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import LiteralString
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

ROOT = Path(__file__).parent.parent
# The processes of xdist are children of the one that was started.
RUN = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
FOLDER = Path(tempfile.gettempdir()) / f"wake-tests-{RUN}-migrated"
NAME = f"test_wake_{RUN}_migrated"


def migrated(server: str) -> str:
    """The name of the database on `server`, a URL; without one the path of SQLite's file. Made by
    the first who asks, while the others wait."""
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = FOLDER / ("postgresql" if server else "sqlite")
        if not done.exists():
            _migrate(server)
            done.touch()
    return NAME if server else str(FOLDER / "wake.sqlite3")


def migrated_folder(folder: Path) -> Path:
    """Makes it the data folder of a server that has migrated its SQLite, and has done nothing yet.
    To migrate takes most of the time that a server needs for its first start."""
    folder.mkdir(mode=0o700)
    shutil.copy(migrated(""), folder / "wake.sqlite3")
    return folder


def remove(server: str) -> None:
    """Removes the database at the end of the run, in the main process."""
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
        if server:
            _on(server, "DROP DATABASE IF EXISTS {} WITH (FORCE)")


def _migrate(server: str) -> None:
    if server:
        _on(server, "CREATE DATABASE {}")
    ours = {
        "DJANGO_SETTINGS_MODULE": "wake.settings",
        "DATABASE_URL": urlsplit(server)._replace(path=f"/{NAME}").geturl() if server else "",
        "WAKE_DATA": str(FOLDER),
        "WAKE_DEV": "1",
    }
    # Migrations have no part in the coverage, and are twice as slow where it is measured.
    theirs = {name: os.environ[name] for name in os.environ if not name.startswith("COVERAGE_")}
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=theirs | ours, check=True)


def _on(server: str, statement: LiteralString) -> None:
    with closing(psycopg.connect(server, autocommit=True)) as connection:
        connection.execute(sql.SQL(statement).format(sql.Identifier(NAME)))
