"""Serves static files under a hash of their content, compressed, with all style sheets in one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

SHEETS = ("css/app.css", "css/outside-inbox.css")
IMPORT = re.compile(r'^@import "([^"]+)";$', re.MULTILINE)
# A string, which stays as it is; else a comment, or blanks that mean nothing to a browser.
SPARE = re.compile(r'("[^"]*")|/\*.*?\*/|\s*([{};,])\s*|(?<=:)\s+', re.DOTALL)


class JoinedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Nothing is built before the server can run: `@import` and `import()` work on the files as
    they are, one request each."""

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

        joined = IMPORT.sub(lambda found: text(f"css/{found[1]}"), text(sheet))
        self.delete(sheet)
        self._save(sheet, ContentFile(without_blanks(joined).encode()))
        paths[sheet] = (self, sheet)


def without_blanks(sheet: str) -> str:
    """Removes what a browser does not need, a tenth of the size."""
    return SPARE.sub(lambda found: found[1] or found[2] or "", sheet).strip()
