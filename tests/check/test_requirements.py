"""Every requirement has its check, every extension its requirement, and published sets stay."""

from __future__ import annotations

import ast
import hashlib
import sys
import tomllib

import pytest

from tests.architecture.sources import CHECK, ROOT
from wake.api.openapi import EXTENSIONS
from wake_check import __version__, requirements
from wake_check.checks import CHECKS, LAST

# A published set is frozen. Add a revision instead of changing one of these lines.
FROZEN = {
    "2026-11": "25537b816907b439ce1592b63d2fca7ead945ce0b0d6dd9736ebe1fe22ae257e",
}


def digest(revision: str) -> str:
    path = CHECK / "revisions" / f"{revision}.toml"
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_sets_are_frozen() -> None:
    assert {revision: digest(revision) for revision in requirements.REVISIONS} == FROZEN


@pytest.mark.parametrize("revision", requirements.REVISIONS)
def test_every_requirement_for_servers_has_a_check(revision: str) -> None:
    rows = requirements.load(revision)
    ids = [row.id for row in rows]

    assert len(ids) == len(set(ids))
    assert {row.level for row in rows} == set(requirements.LEVELS)
    assert {row.id for row in rows if row.party == "server"} <= CHECKS.keys() | LAST.keys()
    assert all((row.level == "extension") == bool(row.extension) for row in rows)


def test_every_check_has_a_requirement() -> None:
    known = {row.id for revision in requirements.REVISIONS for row in requirements.load(revision)}

    assert CHECKS.keys() | LAST.keys() == known - {row.id for row in agents()}


def agents() -> list[requirements.Requirement]:
    return [row for row in requirements.load() if row.party == "agent"]


def test_the_sentences_for_agents_are_listed() -> None:
    """The specification has nine sentences with MUST and five with SHOULD for agents."""
    levels = [row.level for row in agents()]

    assert (levels.count("must"), levels.count("should")) == (9, 5)


def test_every_extension_of_this_server_has_a_check() -> None:
    assert {row.extension for row in requirements.load() if row.extension} == set(EXTENSIONS)


def test_the_page_has_every_requirement_and_nothing_is_broken() -> None:
    """tests/check/test_own_server.py compares the page with a run."""
    page = (ROOT / "docs" / "conformance.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]

    assert [line.split("`")[1] for line in rows] == [
        row.id
        for level in requirements.LEVELS
        for row in requirements.load()
        if (row.level, row.party) == (level, "server")
    ]
    assert [line for line in rows if "| PASS" not in line] == []


def test_the_kit_knows_httpx_only() -> None:
    project = tomllib.loads((ROOT / "check" / "pyproject.toml").read_text())["project"]
    imported = {
        (node.module or "").split(".")[0] if isinstance(node, ast.ImportFrom) else alias.name
        for path in CHECK.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }

    packages = {name.split(".")[0] for name in imported} - sys.stdlib_module_names
    assert packages == {"httpx", "wake_check"}
    assert [name.split(">")[0] for name in project["dependencies"]] == ["httpx"]
    assert project["version"] == __version__
