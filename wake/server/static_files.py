"""Serves compressed static files whose names have a hash of their content. All style sheets are
joined into one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

SHEETS = ("css/app.css", "css/delivery-page.css", "css/outside-inbox.css")
IMPORT = re.compile(r'^@import "([^"]+)";$', re.MULTILINE)
# Matches a string, which stays, or a comment or space that a browser does not need.
SPARE = re.compile(r'("[^"]*")|/\*.*?\*/|\s*([{};,])\s*|(?<=:)\s+', re.DOTALL)
OWN_SCRIPT = re.compile(r"js/[^/]+\.js")
# Matches a line that is a comment, and the indentation of all other lines. This is safe because our
# scripts have no string of several lines, in which `//` and indentation would be content.
SPARE_IN_SCRIPT = re.compile(r"^[ \t]*//.*\n|^[ \t]+", re.MULTILINE)


class JoinedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Joins each style sheet with its imports, and removes comments from scripts, for production.
    Development needs no build, because `@import` and `import()` work on the files as they are."""

    support_js_module_import_aggregation = True

    def post_process(self, paths: dict[str, Any], **options: Any) -> Iterator[Any]:
        if not options.get("dry_run"):
            for name in list(paths):
                if name in SHEETS:
                    self._replace(name, minified(self._joined(name, paths)), paths)
                elif OWN_SCRIPT.fullmatch(name):
                    self._replace(name, SPARE_IN_SCRIPT.sub("", self._text(name, paths)), paths)
        yield from super().post_process(paths, **options)

    def _joined(self, sheet: str, paths: dict[str, Any]) -> str:
        return IMPORT.sub(
            lambda match: self._text(f"css/{match[1]}", paths), self._text(sheet, paths)
        )

    def _text(self, name: str, paths: dict[str, Any]) -> str:
        storage, path = paths[name]
        with storage.open(path) as file:
            return str(file.read().decode())

    def _replace(self, name: str, text: str, paths: dict[str, Any]) -> None:
        self.delete(name)
        self._save(name, ContentFile(text.encode()))
        paths[name] = (self, name)


def minified(sheet: str) -> str:
    """Removes comments and spaces, which are a tenth of the size."""
    return SPARE.sub(lambda match: match[1] or match[2] or "", sheet).strip()
