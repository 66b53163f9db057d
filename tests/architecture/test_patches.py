"""Tests pass limits, clocks and transports as arguments. If a patch is needed, a comment beside or
above the patch gives the reason (STYLE.md, Tests)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.sources import TESTS, calls, name, nodes

pytestmark = pytest.mark.once

# Only ever lower these numbers: give the code an argument, or reach the limit from outside.
MAX_PATCHES = 54
MAX_WRAPPED = 36

PATCHES = {"setattr", "setitem", "delattr", "object"}


def patches(path: Path) -> Iterator[tuple[int, bool]]:
    """Yields the line of each patch, and whether a comment gives its reason."""
    lines = path.read_text().splitlines()
    for called, call in calls(path):
        if called not in PATCHES or not isinstance(call.func, ast.Attribute):
            continue
        beside = lines[call.lineno - 1 : call.end_lineno]
        above = lines[call.lineno - 2].strip()
        yield call.lineno, above.startswith("#") or any("  # " in line for line in beside)


def wrapped(path: Path) -> Iterator[int]:
    """Yields the line of each function of ours that a test wraps (tests/fixtures/wrapped.py)."""
    for node in nodes(path):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("wrapped"))):
                yield node.lineno


def test_each_patch_gives_its_reason() -> None:
    undefended = [
        f"{name(path)}:{line}"
        for path in TESTS
        for line, has_reason in patches(path)
        if not has_reason
    ]

    assert undefended == []


def test_patches_become_fewer() -> None:
    count = sum(1 for path in TESTS for _ in patches(path))

    assert count == MAX_PATCHES, "Lower MAX_PATCHES to hold what is gained, and never raise it."


def test_functions_that_tests_wrap_become_fewer() -> None:
    count = sum(1 for path in TESTS for _ in wrapped(path))

    assert count == MAX_WRAPPED, "Lower MAX_WRAPPED to hold what is gained, and never raise it."
