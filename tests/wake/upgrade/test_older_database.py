"""A server of this version does not start on a database that was not migrated."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.fixtures.migrated import migrated_folder
from tests.wake.server.up import ROOT, clean_environment, free_port

pytestmark = [pytest.mark.once, pytest.mark.system]  # the test brings its own SQLite


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of a server whose database lacks the newest migrations, by its record."""
    data = migrated_folder(tmp_path_factory.mktemp("server") / "data")
    with closing(sqlite3.connect(data / "wake.sqlite3")) as database, database:
        database.execute("DELETE FROM django_migrations WHERE app = 'wake' AND name >= '0057'")
    return data


@pytest.mark.parametrize("role", ["web", "stream", "worker", "beat"])
def test_no_role_starts_before_migrate(role: str, older: Path) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "up", role],
        cwd=ROOT,
        env=clean_environment(WAKE_DATA=str(older), PORT=str(free_port())),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 1
    assert "Run `manage.py migrate` first" in done.stderr
    assert "wake.0057_receipts_are_logged" in done.stderr
