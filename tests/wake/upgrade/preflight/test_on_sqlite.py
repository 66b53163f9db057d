"""`manage.py preflight` works on one machine with SQLite, too."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.migrated import migrated_folder
from tests.wake.server.up import ROOT, clean_environment

pytestmark = [pytest.mark.once, pytest.mark.slow]  # the test brings its own SQLite


def preflight(data: Path, *words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "manage.py", "preflight", "--json", *words],
        cwd=ROOT,
        env=clean_environment(WAKE_DATA=str(data)),
        capture_output=True,
        text=True,
        check=True,
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return report | {each["part"]: each["text"] for each in report["findings"]}


def test_it_names_the_pending_migrations_and_the_room(tmp_path: Path) -> None:
    data = migrated_folder(tmp_path / "data")
    with closing(sqlite3.connect(data / "wake.sqlite3")) as database, database:
        database.execute("DELETE FROM django_migrations WHERE app = 'wake' AND name >= '0063'")

    report = preflight(data)

    assert report["ready"] is True
    assert report["database"].startswith("SQLite 3.")
    assert "stop the server first" in report["migrations"]
    assert report["disk"].startswith("The upgrade needs about ")


def test_an_up_to_date_database_has_none(tmp_path: Path) -> None:
    report = preflight(migrated_folder(tmp_path / "data"))

    assert report["migrations"] == "None is pending."
