"""Serves static files under a hash of their content, compressed, with all style sheets in one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

SHEETS = ("css/app.css", "css/outside-inbox.css")
IMPORT = re.compile(r'^@import "([^"]+)";$', re.MULTILINE)
# A string, which is kept, or a comment or space that a browser does not need.
SPARE = re.compile(r'("[^"]*")|/\*.*?\*/|\s*([{};,])\s*|(?<=:)\s+', re.DOTALL)


class JoinedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Joins each style sheet with its imports for production. In development nothing needs to be
    built: `@import` and `import()` work on the files as they are."""

    support_js_module_import_aggregation = True

    def post_process(self, paths: dict[str, Any], **options: Any) -> Iterator[Any]:
        for sheet in SHEETS:
            if sheet in paths and not options.get("dry_run"):
                self._join(sheet, paths)
        yield from super().post_process(paths, **options)

    def _join(self, sheet: str, paths: dict[str, Any]) -> None:
        def text(name: str) -> str:
            storage, path = paths[name]
            with storage.open(path) as part:
                return str(part.read().decode())

        joined = IMPORT.sub(lambda match: text(f"css/{match[1]}"), text(sheet))
        self.delete(sheet)
        self._save(sheet, ContentFile(minified(joined).encode()))
        paths[sheet] = (self, sheet)


def minified(sheet: str) -> str:
    """Removes comments and spaces, which are a tenth of the size."""
    return SPARE.sub(lambda match: match[1] or match[2] or "", sheet).strip()
