"""Reads the files that agents upload, and detects their types."""

from __future__ import annotations

import mimetypes
import os
from pathlib import Path

Source = bytes | os.PathLike[str] | str
UNKNOWN = "application/octet-stream"


def content_of(source: Source) -> bytes:
    """Returns the bytes. If `source` is a text, it is the path of a file. Raises ValueError for a
    file that cannot be read."""
    if isinstance(source, bytes):
        return source
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise ValueError(f"{os.fspath(source)} cannot be read: {error.strerror}") from error


def media_type_of(source: Source, content: bytes) -> str:
    """Returns the type of a picture, which its first bytes show. For any other file, returns the
    type that its name suggests."""
    if picture := _picture_type(content):
        return picture
    guessed = None if isinstance(source, bytes) else mimetypes.guess_type(os.fspath(source))[0]
    return guessed or UNKNOWN


def is_picture(content: bytes) -> bool:
    return bool(_picture_type(content))


def _picture_type(content: bytes) -> str:
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if content.startswith(b"RIFF") and content[8:12] == b"WEBP" else ""
