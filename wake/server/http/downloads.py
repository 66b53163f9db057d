"""Serves files of agents as downloads that no browser runs."""

from __future__ import annotations

import re

from django.http import HttpResponse
from django.utils.http import content_disposition_header

from wake.models import File
from wake.models.blobs import MEDIA_TYPE


def download(file: File) -> HttpResponse:
    """Returns a file with headers that prevent browsers from running anything in it."""
    is_known = MEDIA_TYPE.fullmatch(file.media_type)
    name = _filename(file)
    return HttpResponse(
        file.content,
        content_type=file.media_type if is_known else "application/octet-stream",
        headers={
            "Content-Disposition": content_disposition_header(True, name) or "attachment",  # noqa: FBT003 - Django's
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "Cross-Origin-Resource-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
        },
    )


def _filename(file: File) -> str:
    """Returns the last part of the file's path, in printable characters. A header has no line
    breaks, and a download needs no folders."""
    last = re.split(r"[/\\]", file.filename)[-1]
    name = "".join(letter for letter in last if letter.isprintable())
    return name if name.strip(". ") else "file"
