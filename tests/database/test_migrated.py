"""Tests copy a migrated database that fits the migrations (tests/fixtures/migrated.py)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db.models.signals import post_migrate

from tests.fixtures.migrated import FOLDER, ROOT, SOURCES, made_once

IMPORT = re.compile(
    r"^(?:from|import) ((?:database|accounts|wake|inbox|relay)[\w.]*)(?: import (\w+))?", re.M
)


def test_a_copy_depends_on_every_module_that_migrations_import() -> None:
    sources = {path for pattern in SOURCES for path in ROOT.glob(pattern)}

    imported = set(_imported_by_migrations())
    received = set(_receivers_of_migrate())

    assert imported
    assert received
    assert imported | received <= sources


def _imported_by_migrations() -> Iterator[Path]:
    for migration in ROOT.glob("*/migrations/*.py"):
        for module, name in IMPORT.findall(migration.read_text()):
            path = ROOT / module.replace(".", "/")
            for file in (path.with_suffix(".py"), path / "__init__.py", path / f"{name}.py"):
                if file.exists():
                    yield file


def _receivers_of_migrate() -> Iterator[Path]:
    for _, reference, *_ in post_migrate.receivers:
        file = Path(inspect.getfile(reference()))
        if "site-packages" not in file.parts:
            yield file


def test_a_failed_copy_is_remade_and_a_finished_one_is_reused() -> None:
    kind = "test-of-made-once"
    folders: list[Path] = []

    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        made_once(kind, fail)
    first = made_once(kind, folders.append)
    second = made_once(kind, folders.append)

    assert first == second
    assert len(folders) == 1
    assert list(first.iterdir()) == []
    first.rmdir()
    (FOLDER / f".lock-{kind}").unlink()
