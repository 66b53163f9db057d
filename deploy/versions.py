"""Compares the versions of all packages with the version of a release: `versions.py 0.3.0`.

Exits with 1, and names each file that has another version."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECTS = ("pyproject.toml", "client/pyproject.toml", "check/pyproject.toml")
CHART = "deploy/helm/wake/Chart.yaml"
NPM = "client-js/package.json"
CHANGELOG = "CHANGELOG.md"


def versions(root: Path) -> Iterator[tuple[str, str]]:
    """Yields each file with the version in it. A version of the changelog without a date is
    `unreleased`."""
    for file in PROJECTS:
        yield file, tomllib.loads((root / file).read_text())["project"]["version"]
    yield NPM, json.loads((root / NPM).read_text())["version"]
    for key, version in re.findall(
        r"^(version|appVersion): (\S+)", (root / CHART).read_text(), re.MULTILINE
    ):
        yield f"{CHART}, {key}", version
    newest = re.search(r"^## (\S+) - (\S+)$", (root / CHANGELOG).read_text(), re.MULTILINE)
    is_dated = newest and re.fullmatch(r"\d{4}-\d\d-\d\d", newest[2])
    yield CHANGELOG, newest[1] if newest and is_dated else "unreleased"


def main(version: str, root: Path = ROOT) -> int:
    others = [f"{file}: {found}" for file, found in versions(root) if found != version]
    for line in others:
        sys.stderr.write(f"This is not {version}: {line}\n")
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
