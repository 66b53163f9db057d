"""Writes the files of an export into a ZIP archive, part by part."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

from inbox.audit.evidence.export import EvidenceFile

PART = 65_536  # bytes; the download returns its database connection after each part


class _Written(io.RawIOBase):
    """Holds the bytes that the archive has written since the last take(). The output cannot be
    rewound, so the archive writes each file's size after the file."""

    def __init__(self) -> None:
        self._parts = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._parts += content
        return len(memoryview(content))

    @property
    def size(self) -> int:
        return len(self._parts)

    def take(self) -> bytes:
        taken = bytes(self._parts)
        self._parts.clear()
        return taken


def zipped(files: Iterable[EvidenceFile]) -> Iterator[bytes]:
    """Yields the archive in parts. If an error ends the export, the archive has no directory at its
    end, so no program takes the archive for a complete one."""
    written = _Written()
    archive = zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED)
    for file in files:
        with archive.open(file.path, "w", force_zip64=True) as entry:
            for part in file.parts:
                entry.write(part)
                if written.size > PART:
                    yield written.take()
    archive.close()
    yield written.take()
