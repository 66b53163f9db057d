"""Finds what would stop a reader: dead names, and words to translate."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from tests.architecture.sources import (
    CHECK,
    CLIENT,
    DOCUMENTS,
    ROOT,
    SOURCES,
    TEMPLATES,
    TESTS,
    comments,
    name,
    nodes,
    tree,
)

DIALECT = re.compile(
    r"\b(?:whoever|nobody|somebody|whatever|anew|thereof|hereby|whence|of which)\b"
    r"|\bis said to be\b|\bto be had\b|\blets? somebody in\b",
    re.IGNORECASE,
)
# Allowed in spite of a word: the account that owns nothing on a Unix system, a stored value, and an
# old label.
ALLOWED = re.compile(
    r"nobody@|nobody:|Actor\(\"nobody\"|If nobody answers, it assumes", re.IGNORECASE
)
QUOTATION = re.compile(r'"[^"]*"')
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Decorators that hand a function to a framework, which calls it without naming it.
HANDED_OVER = {"receiver", "shared_task", "register", "connect", "fixture", "filter", "simple_tag"}
# Methods that a framework calls by their names begin with these.
CALLED_BY_NAME = ("__", "clean_", "get_placeholder", "db_for_", "allow_")
# Names that a framework looks up in a module.
LOOKED_UP = {
    *("application", "urlpatterns", "app_name", "handler400", "handler404", "handler500"),
    *("celery_app", "register"),
}


def dialect_words(paths: list[Path]) -> list[str]:
    """Returns `file:line: word` for each word that plain English does not use."""
    return [
        f"{name(path)}:{number}: {match.group()}"
        for path in paths
        for number, text in _prose(path)
        for match in DIALECT.finditer(ALLOWED.sub("", text))
    ]


def _prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yields the numbered texts of a file. Leaves out the data of a test, and the sentences of a
    specification that a docstring quotes."""
    if path not in TESTS:
        yield from enumerate(path.read_text().splitlines(), 1)
        return
    yield from comments(path)
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name.replace("_", " ")
        elif not isinstance(node, ast.Module):
            continue
        if docstring := ast.get_docstring(node):
            yield node.body[0].lineno, QUOTATION.sub("", docstring)


def readable_files() -> list[Path]:
    """Returns everything that a person reads: code, tests, pages, mails and documents."""
    packages = sorted([*CLIENT.rglob("*.py"), *CHECK.rglob("*.py")])
    return [*SOURCES, *packages, *TESTS, *TEMPLATES, *DOCUMENTS]


def dead_names() -> list[str]:
    """Returns the functions, classes, constants and methods that only their own definition names.

    A test does not count as a use of a name, because code that only its test calls is dead. The
    operator's manual counts as a use.
    """
    uses: Counter[str] = Counter()
    for path in [*SOURCES, *TEMPLATES, *DOCUMENTS, ROOT / "pyproject.toml", ROOT / "manage.py"]:
        uses.update(WORD.findall(path.read_text()))
    return [
        f"{name(path)}: {defined}"
        for path in SOURCES
        if "management/commands" not in name(path)
        for defined in _defined(path)
        if uses[defined.rpartition(".")[2]] == 1
    ]


def _defined(path: Path) -> Iterator[str]:
    for node in tree(path).body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not _is_handed_over(node):
                yield node.name
            case ast.ClassDef() if not _is_handed_over(node):
                if not _is_found_by_its_base(path, node):
                    yield node.name
                yield from _methods(path, node)
            case (
                ast.Assign(targets=[ast.Name(id=constant)])
                | ast.AnnAssign(target=ast.Name(id=constant))
            ) if constant not in LOOKED_UP and not _is_settings(path):
                yield constant


def _methods(path: Path, node: ast.ClassDef) -> Iterator[str]:
    cls = getattr(import_module(_module(path)), node.name)
    bases = inspect.getmro(cls)[1:]
    for part in node.body:
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if part.name.startswith(CALLED_BY_NAME) or _is_handed_over(part):
            continue
        if not any(hasattr(base, part.name) for base in bases):
            yield f"{node.name}.{part.name}"


def _is_handed_over(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    decorators = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    return any(ast.unparse(one).rpartition(".")[2] in HANDED_OVER for one in decorators)


def _is_found_by_its_base(path: Path, node: ast.ClassDef) -> bool:
    """Says whether Django or drf-spectacular finds this class by its base class."""
    bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    return bool(bases & {"AppConfig", "BaseCommand", "Model", "OpenApiAuthenticationExtension"})


def _is_settings(path: Path) -> bool:
    return name(path).startswith(("wake/settings.py", "wake/server/settings/"))


def _module(path: Path) -> str:
    return name(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
