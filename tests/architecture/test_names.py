"""A name means one thing in the whole server, and every maximum is called MAX."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.architecture.sources import CLIENT, SOURCES, TESTS, name, tree

pytestmark = pytest.mark.once

CLIENT_SOURCES = sorted(CLIENT.rglob("*.py"))
# Django finds a command by its module, and every command has the class name Command.
FOUND_BY_MODULE = {"Command"}
# These classes are the JSON objects of the protocol, so the classes have the words of the protocol.
WORDS_OF_THE_PROTOCOL = "wake/wire.py"
# Remove a pair from this list when the two become a single class, or when one of them gets another
# name.
SAME_NAME = {
    "ExitStatus": "wake connect and the other commands document different exit statuses",
    "KeyNotValid": "the SDK's error is public, the connector's error is about frames",
}
OTHER_MAXIMUM = re.compile(r"(?:.*_)?MOST(?:_.*)?")


def classes(paths: list[Path]) -> dict[str, list[str]]:
    """Returns, for each name of a class, the files that define such a class at their top."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(name(path))
    return found


def constants(path: Path) -> set[str]:
    """Returns the names that the module assigns at its top."""
    return {
        node.id
        for statement in tree(path).body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def repeated(paths: list[Path]) -> dict[str, list[str]]:
    return {
        of: files
        for of, files in classes(paths).items()
        if len(files) > 1 and of not in FOUND_BY_MODULE
    }


def test_no_two_classes_have_one_name() -> None:
    server = repeated([path for path in SOURCES if name(path) != WORDS_OF_THE_PROTOCOL])
    client = repeated(CLIENT_SOURCES)

    assert (server | client).keys() == SAME_NAME.keys(), server | client


def test_every_maximum_is_called_max() -> None:
    assert [
        f"{name(path)}: {constant}"
        for path in [*SOURCES, *CLIENT_SOURCES, *TESTS]
        for constant in sorted(constants(path))
        if OTHER_MAXIMUM.fullmatch(constant)
    ] == []
