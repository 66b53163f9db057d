"""Implements `make figures`: measures the code, draws its imports, and writes both into
docs/architecture.md."""

from __future__ import annotations

import ast
import os
import statistics
import sys
from collections.abc import Iterable
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"

    import django

    django.setup()

from tests.architecture import documented, imports
from tests.architecture.sources import CLIENT, PACKAGES, ROOT, SOURCES, TESTS, name, nodes

MAX_LINES, MAX_LINES_OF_URLS = 400, 80
FULLEST = 5


def entries_by_directory() -> dict[str, int]:
    """Returns how many modules and packages each directory of the server holds, without `__init__`.
    Migrations and commands are not counted, because readers find them by their names."""
    entries: dict[str, set[str]] = {}
    for path in SOURCES:
        within = path.relative_to(ROOT)
        for folder, entry in zip(within.parents, [within, *within.parents], strict=False):
            if entry.name != "__init__.py" and folder != Path() and folder.name != "commands":
                entries.setdefault(str(folder), set()).add(entry.name)
    return {folder: len(names) for folder, names in entries.items()}


def long_files() -> dict[str, int]:
    """Returns the files with more lines than one concept needs."""
    lengths = {name(path): len(path.read_text().splitlines()) for path in (*SOURCES, *TESTS)}
    return {path: lines for path, lines in lengths.items() if lines > MAX_LINES}


def long_urls() -> dict[str, int]:
    """Returns the lists of addresses that are too long to read."""
    urls = {name(path): len(path.read_text().splitlines()) for path in SOURCES if _is_urls(path)}
    return {path: lines for path, lines in urls.items() if lines > MAX_LINES_OF_URLS}


def _is_urls(path: Path) -> bool:
    return path.name == "urls.py" or path.name.endswith("_urls.py")


def pictures() -> str:
    """Draws the imports between the apps, and those inside each app that has some."""
    graphs = {"The apps": imports.between_apps()} | {
        f"Inside `{app}/`": imports.inside(app) for app in PACKAGES
    }
    return "\n\n".join(f"{title}:\n\n{imports.picture(graph)}" for title, graph in graphs.items())


def structure() -> str:
    """Lists what would stop a reader in the tree: knots, full directories, long files."""
    entries = entries_by_directory()
    fullest = sorted(entries, key=lambda folder: (-entries[folder], folder))[:FULLEST]
    knots = [
        f"{app}: {', '.join(knot)}"
        for app in PACKAGES
        for knot in imports.knots(imports.inside(app))
    ]
    return "\n".join(
        [
            f"- Packages of an app that import each other in a circle: {_listed(knots)}.",
            f"- Fullest directories: {_listed(f'`{path}/` {entries[path]}' for path in fullest)}.",
            f"- Files above {MAX_LINES} lines: {_named(long_files())}.",
            f"- Lists of URLs above {MAX_LINES_OF_URLS} lines: {_named(long_urls())}.",
        ]
    )


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words) or "none"


def _named(lines: dict[str, int]) -> str:
    return _listed(f"`{path}`" for path in sorted(lines))


def table() -> str:
    lines = [
        "| package | files | lines | file median | p90 | max | functions | median | p90 | max |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for package in [*PACKAGES, "client"]:
        folder = CLIENT if package == "client" else ROOT / package
        lines.append(_row(package, [p for p in _python(folder) if p.stat().st_size]))
    return "\n".join(lines)


def _python(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "migrations" not in path.parts)


def _row(package: str, files: list[Path]) -> str:
    lengths = [len(path.read_text().splitlines()) for path in files]
    functions = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for path in files
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    figures = [len(files), sum(lengths), *_spread(lengths), len(functions), *_spread(functions)]
    return f"| {package} | " + " | ".join(f"{figure:,}" for figure in figures) + " |"


def _spread(numbers: list[int]) -> tuple[int, int, int]:
    """Returns the median, the 90th percentile and the largest."""
    ninetieth = statistics.quantiles(numbers, n=10)[-1]
    return round(statistics.median(numbers)), round(ninetieth), max(numbers)


def parts() -> dict[str, str]:
    """Returns each part of docs/architecture.md that comes from the code alone."""
    return {"figures": table(), "structure": structure(), "pictures": pictures()}


if __name__ == "__main__":
    for title, text in parts().items():
        documented.write(title, text)
        print(text)  # noqa: T201 - a script
