"""Lists the files that the project consists of."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
APPS = ["pages", "accounts", "wake", "inbox", "relay"]  # each app may import the apps before it
PACKAGES = ["database", *APPS]
CLIENT = ROOT / "client" / "wake_client"
CHECK = ROOT / "check" / "wake_check"
SOURCES = sorted(
    path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if "migrations" not in path.parts
)
TESTS = sorted((ROOT / "tests").rglob("*.py"))
TEMPLATES = sorted(path for path in (ROOT / "templates").rglob("*") if path.is_file())
PAGES = [path for path in TEMPLATES if path.suffix == ".html"]
OTHER_CODE = sorted(
    [
        *(ROOT / "static").rglob("*.js"),
        *(ROOT / "static").rglob("*.css"),
        *(path for path in (ROOT / "deploy").rglob("*") if path.is_file()),
        *(ROOT / "bench").rglob("*.py"),
        *(path for path in (ROOT / "docs/site").iterdir() if path.suffix in {".py", ".toml"}),
        *(ROOT / file for file in ("Makefile", "Dockerfile", "manage.py", "pyproject.toml")),
        *(ROOT / file for file in (".env.example", "docker-compose.yml")),
    ]
)
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / folder / "README.md" for folder in ("check", "client")),
    ]
)


def name(path: Path) -> str:
    """Returns the path as the project's documents write it."""
    return str(path.relative_to(ROOT))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree(path)))


@cache
def comments(path: Path) -> list[tuple[int, str]]:
    """Returns the line and the text of each comment."""
    with path.open("rb") as file:
        return [
            (token.start[0], token.string)
            for token in tokenize.tokenize(file.readline)
            if token.type == tokenize.COMMENT
        ]


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """Yields each call with the last part of its name: `filter` for `Delivery.objects.filter()`."""
    for node in nodes(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr, node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, node
