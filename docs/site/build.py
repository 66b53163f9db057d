"""Builds the documentation site: `python docs/site/build.py OPENAPI TARGET`.

OPENAPI is the file with the server's OpenAPI document. TARGET is the folder that gets the site, and
loses what it had. A broken link or anchor ends the build with an error, and so does a page that the
navigation lacks. `make docs` runs this program.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import api_reference
import staging
from whitenoise.compress import main as compress

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Matches a path with a star. A README.md is an index, and has a line of its own.
PATTERN = re.compile(r'"([\w/-]*\*\.md)",?')
INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
# These need the address of the server, which a build does not know.
NOT_SERVED = ("404.html", "sitemap.xml", "sitemap.xml.gz")
CANONICAL = re.compile(r'<link rel="canonical"[^>]*>\s*')


def main(openapi: str, target: str) -> None:
    document = json.loads(Path(openapi).read_text())
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder) / "pages"
        documents = staging.stage(ROOT, staged)
        (staged / "api.md").write_text(api_reference.page(document))
        for name in ("site.css", "site.js"):
            shutil.copy(HERE / name, staged)
        shutil.copy(ROOT / "static/img/wake.svg", staged / "images/favicon.svg")
        configuration = Path(folder) / "zensical.toml"
        configuration.write_text(_configuration([*documents, "api.md"]))
        command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
        subprocess.run([*command, "-f", str(configuration)], check=True)  # noqa: S603 - fixed
        built = Path(folder) / "site"
        _tidy(built)
        compress(["--quiet", str(built)])
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(built, target)
    sys.stdout.write(f"The documentation is in {target}.\n")


def _configuration(names: list[str]) -> str:
    """Returns the configuration with each pattern replaced by its pages. Ends the program if the
    navigation lacks a page."""
    text = PATTERN.sub(
        lambda match: "".join(
            f'"{name}", '
            for name in sorted(names)
            if fnmatch.fnmatch(name, match[1]) and not name.endswith("README.md")
        ),
        (HERE / "zensical.toml").read_text(),
    ).replace("[project]\n", '[project]\ndocs_dir = "pages"\nsite_dir = "site"\n', 1)
    missing = set(names) - set(_listed(tomllib.loads(text)["project"]["nav"]))
    if missing:
        sys.exit(f"docs/site/zensical.toml lists no place for: {', '.join(sorted(missing))}.")
    return text


def _listed(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from _listed(part)


def _tidy(built: Path) -> None:
    """Moves scripts out of the pages, because the content policy allows none inside. Each script
    becomes a file that is named for its content."""
    scripts = built / "assets" / "javascripts"
    for name in NOT_SERVED:
        (built / name).unlink(missing_ok=True)
    for page in built.rglob("*.html"):
        up = "../" * len(page.relative_to(built).parent.parts)

        def moved(match: re.Match[str], up: str = up) -> str:
            digest = hashlib.sha256(match[1].encode()).hexdigest()[:8]
            (scripts / f"inline.{digest}.min.js").write_text(match[1])
            return f'<script src="{up}assets/javascripts/inline.{digest}.min.js"></script>'

        page.write_text(INLINE_SCRIPT.sub(moved, CANONICAL.sub("", page.read_text())))


if __name__ == "__main__":
    main(*sys.argv[1:])
