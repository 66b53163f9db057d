"""Migrates a database once for each state of the migrations; tests copy it.

The copy is found by a hash of what decides how a migrated database looks, so it is never stale,
and later runs and other checkouts find it, too.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

ROOT = Path(__file__).parent.parent
FOLDER = Path(tempfile.gettempdir()) / f"wake-tests-migrated-{os.getuid()}"
# tests/database/test_migrated.py compares them with what migrations import.
SOURCES = (
    *("requirements.lock", "wake/settings.py", "database/*.py", "tests/migrated.py"),
    *("*/apps.py", "*/migrations/*.py", "*/models.py", "*/models/*.py"),
    *(
        "accounts/audit/append_only.py",
        "accounts/audit/signatures.py",
        "accounts/audit/totals.py",
        "inbox/search/fts5.py",
        "inbox/search/words.py",
    ),
)
KEPT = 5  # of each kind: the last ones that were used


def migrated(server: str) -> str:
    """Returns the name of the database on `server`, a URL; without one the path of SQLite's file.
    The first caller makes it, while the others wait."""
    if server:
        return _on_postgresql(server)
    return str(made_once("sqlite", _on_sqlite) / "wake.sqlite3")


def migrated_folder(folder: Path) -> Path:
    """Makes it the data folder of a server that has migrated its SQLite, and has done nothing yet.
    To migrate takes most of the time that a server needs for its first start."""
    folder.mkdir(mode=0o700)
    shutil.copy(migrated(""), folder / "wake.sqlite3")
    return folder


def made_once(kind: str, make: Callable[[Path], object]) -> Path:
    """Returns the folder of this kind and state. `make` fills a new one."""
    folder = FOLDER / f"{kind}-{state()}"
    with _alone(kind):
        if not folder.exists():
            unfinished = FOLDER / f"unfinished-{kind}"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            make(unfinished)
            unfinished.rename(folder)
        os.utime(folder)
        by_use = sorted(FOLDER.glob(f"{kind}-*"), key=lambda path: path.stat().st_mtime)
        for old in by_use[:-KEPT]:
            shutil.rmtree(old)
    return folder


@cache
def state() -> str:
    """Hashes the sources: a database is good for the state that it was made from."""
    paths = sorted(path for pattern in SOURCES for path in ROOT.glob(pattern))
    content = hashlib.sha256()
    for path in paths:
        content.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return content.hexdigest()[:16]


def _on_sqlite(folder: Path) -> None:
    _migrate("", folder)


def _on_postgresql(server: str) -> str:
    name, unfinished = f"test_wake_migrated_{state()}", "test_wake_unfinished"
    with _alone("postgresql"), closing(psycopg.connect(server, autocommit=True)) as connection:

        def execute(statement: LiteralString, *names: str) -> list[tuple[Any, ...]]:
            query = sql.SQL(statement).format(*map(sql.Identifier, names))
            cursor = connection.execute(query)
            return cursor.fetchall() if cursor.description else []

        existing = [name for (name,) in execute(NEWEST_FIRST)]
        if name not in existing:
            execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", unfinished)
            execute("CREATE DATABASE {}", unfinished)
            with tempfile.TemporaryDirectory(prefix="wake-tests-") as folder:
                _migrate(urlsplit(server)._replace(path=f"/{unfinished}").geturl(), Path(folder))
            execute("ALTER DATABASE {} RENAME TO {}", unfinished, name)
            for old in existing[KEPT - 1 :]:
                with suppress(psycopg.errors.ObjectInUse):
                    execute("DROP DATABASE {}", old)
    return name


NEWEST_FIRST = (
    "SELECT datname FROM pg_database WHERE starts_with(datname, 'test_wake_migrated_')"
    " ORDER BY oid DESC"
)


def _migrate(url: str, data: Path) -> None:
    ours = {
        "DJANGO_SETTINGS_MODULE": "wake.settings",
        "DATABASE_URL": url,
        "WAKE_DATA": str(data),
        "WAKE_DEV": "1",
    }
    # Migrations have no part in the coverage, and are twice as slow where it is measured.
    theirs = {name: os.environ[name] for name in os.environ if not name.startswith("COVERAGE_")}
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=theirs | ours, check=True)


@contextmanager
def _alone(kind: str) -> Iterator[None]:
    """Lets one process at a time make what is missing."""
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / f".lock-{kind}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
