"""Finds references to documents, headings, modules, tests and names that do not exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.architecture.sources import (
    CHECK,
    CLIENT,
    DOCUMENTS,
    OTHER_CODE,
    ROOT,
    SOURCES,
    TEMPLATES,
    TESTS,
    comments,
    name,
    nodes,
)

DOCUMENT = re.compile(
    r"(?<![\w/.-])((?:docs|client)/(?:[\w-]+/)*[\w-]+\.md|[A-Z]{4,}\.md)\b"
    r"(?:, ([A-Z][^.;:()\"`]*))?"
)
MODULE = re.compile(
    r"(?<![\w/.-])((?:database|pages|accounts|wake|inbox|relay|tests|client)/(?:[\w-]+/)*[\w-]+\.py"
    r"|(?:[\w-]+/)+test_\w+\.py)\b"
)
# These documents name files relative to tests/, and say so.
BELOW_TESTS = {ROOT / "docs" / "integrity.md", ROOT / "docs" / "reliability.md"}
# Two spellings name a module and a name in it: `wake/deliveries.py`, `deliver`, and `respond` in
# `wake/responses.py`.
OF_A_MODULE = (
    re.compile(r"`(?P<module>(?:[\w-]+/)+\w+\.py)`,\s+`(?P<name>\w+)`"),
    re.compile(r"`(?P<name>\w+)`\s+in\s+`(?P<module>(?:[\w-]+/)+\w+\.py)`"),
)
SPAN = re.compile(r"`([^`\n]+)`")
# Finds `due_at`, `Delivery.due_at`, `PER_HOST`, `ApiKey` and `decide()`. Other single words may be
# data.
NAME = re.compile(
    r"(?=[A-Za-z_])"
    r"(?:\w+\(\)|(?:\w+\.)*(?:\w*[A-Za-z]\w*_\w+|_\w+|(?:[A-Z][a-z0-9]+){2,})(?:\.\w+)*)",
    re.ASCII,
)
TEST = re.compile(r"\btest_\w+[a-z0-9]\b")
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
NOT_OURS = {"SKILL.md"}  # files of other programs
NAMES_OF_OTHERS = {
    *("confusable_homoglyphs", "SpoofChecker", "max_waiting"),  # alternatives in docs/decisions
    # These are settings and a program of PostgreSQL.
    *("archive_command", "log_error_verbosity", "pg_archivecleanup", "recovery_target_time"),
    "claude_desktop_config",  # a file of another program
    *("is_global", "is_private"),  # two properties of ipaddress that Wake avoids
    # These are traps of frameworks, in docs/adapters.
    *("BeforeToolCallEvent", "LocalExecutor", "allowed_checkpoint_types", "cancel_tool"),
    "wait_for_event",
}

PYTHON = [*SOURCES, *sorted([*CLIENT.rglob("*.py"), *CHECK.rglob("*.py")]), *TESTS]


def undefined_references() -> list[str]:
    """Returns `file: reference` for each reference to something that does not exist."""
    missing: list[str] = []
    for path in [*SOURCES, *TESTS, *TEMPLATES, *DOCUMENTS]:
        if path.name == "CHANGELOG.md":  # the changelog also names things that no longer exist
            continue
        text = path.read_text()
        for match in DOCUMENT.finditer(text):
            missing += _missing_document(path, match)
        for match in MODULE.finditer(text):
            if _module(match.group(1), within=path) is None:
                missing.append(f"{name(path)}: {match.group(1)}")
        prose = "\n".join(_prose(path)) if path.suffix == ".py" else text
        missing += [f"{name(path)}: {reference}" for reference in _missing_names(path, prose)]
    return missing


def _missing_document(path: Path, match: re.Match[str]) -> list[str]:
    target, heading = match.group(1), match.group(2)
    if Path(target).name in NOT_OURS:
        return []
    places = [ROOT / target, path.parent / target]
    document = next((place for place in places if place.is_file()), None)
    if document is None:
        return [f"{name(path)}: {target}"]
    if heading and path.suffix == ".py" and not _has_heading(document, heading):
        return [f"{name(path)}: {target}, {heading}"]
    return []


def _has_heading(document: Path, words: str) -> bool:
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    plain = [heading.replace("`", "").strip() for heading in headings]
    reference = " ".join(words.split())
    return any(reference.startswith(heading) for heading in plain)


def _missing_names(path: Path, prose: str) -> Iterator[str]:
    for pattern in OF_A_MODULE:
        for match in pattern.finditer(prose):
            module = _module(match["module"], within=path)
            if module is not None and match["name"] not in _names_in(module):
                yield f"{match['name']} in {match['module']}"
    for test in TEST.findall(prose):
        if test not in _code():
            yield test
    for span in SPAN.findall(prose):
        if NAME.fullmatch(span):
            yield from (word for word in WORD.findall(span) if word not in _code())


def _module(reference: str, *, within: Path) -> Path | None:
    path = ROOT / reference
    if within in BELOW_TESTS and not reference.startswith("tests/"):
        path = ROOT / "tests" / reference
    return path if path.exists() else None


def _prose(path: Path) -> Iterator[str]:
    """Yields the comments and docstrings of a module."""
    for _, comment in comments(path):
        yield comment
    for docstring in _docstrings(path):
        yield str(docstring.value)


@cache
def _docstrings(path: Path) -> list[ast.Constant]:
    return [
        first.value
        for node in nodes(path)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for first in node.body[:1]
        if isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ]


@cache
def _code() -> set[str]:
    """Returns every word of the code, of its strings and of its file names. Leaves out the words of
    comments and docstrings."""
    words = {word for path in PYTHON for word in _names_in(path)}
    for path in [*OTHER_CODE, *TEMPLATES]:
        words.update(WORD.findall(path.read_text()))
    for path in (ROOT / "docs" / "adapters").glob("*.md"):  # the tests run these programs
        for program in PROGRAM.findall(path.read_text()):
            words.update(WORD.findall(program))
    return words | NAMES_OF_OTHERS


@cache
def _names_in(path: Path) -> set[str]:
    prose = set(map(id, _docstrings(path)))
    words = set(WORD.findall(name(path)))
    for node in nodes(path):
        texts = [getattr(node, field, None) for field in ("id", "attr", "name", "arg", "module")]
        if isinstance(node, ast.Constant) and id(node) not in prose:
            texts.append(node.value)
        for text in texts:
            if isinstance(text, str):
                words.update(WORD.findall(text))
    return words
