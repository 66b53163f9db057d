"""`make figures`: measures the code and writes the table in docs/architecture.md."""

from __future__ import annotations

import ast
import os
import statistics
import sys
from collections import Counter
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"

    import django

    django.setup()

from tests.architecture import findings, references
from tests.architecture.sources import CLIENT, PACKAGES, ROOT, SOURCES, nodes

MODULES_AT_MOST = 18  # wake/ holds the verbs beside Django's own modules
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
DOCUMENT = ROOT / "docs/architecture.md"


def modules_by_directory() -> dict[str, int]:
    """Returns how many Python modules each directory holds, `__init__` left out."""
    counts: Counter[str] = Counter()
    for path in SOURCES:
        if path.name != "__init__.py" and "commands" not in path.parts:
            counts[str(path.parent.relative_to(ROOT))] += 1
    return dict(counts)


def table() -> str:
    lines = [
        "| package | files | lines | file median | p90 | max | functions | median | p90 | max |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for package in [*PACKAGES, "client"]:
        folder = CLIENT if package == "client" else ROOT / package
        lines.append(_row(package, [p for p in _python(folder) if p.stat().st_size]))
    modules = modules_by_directory()
    fullest = max(modules, key=lambda folder: modules[folder])
    words = findings.dialect_words(findings.readable_files())
    return "\n".join(
        [
            *lines,
            "",
            f"- Fullest directory: `{fullest}/`, {modules[fullest]} modules.",
            f"- Words that mark a sentence to say in plain English: {len(words)}.",
            f"- References to documents, headings, modules and names that do not exist: "
            f"{len(references.undefined_references())}.",
            f"- Names that nothing uses: {len(findings.dead_names())}.",
        ]
    )


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


def write() -> None:
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}")


if __name__ == "__main__":
    write()
    print(table())  # noqa: T201 - a script
