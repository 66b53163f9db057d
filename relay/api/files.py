"""Serves the large files of tasks by signed links."""

from __future__ import annotations

import logging
import re
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.utils.http import content_disposition_header
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from database.encryption import Unreadable
from relay.content import blobs
from relay.content.blobs import File
from wake.api.errors import RETRY_UNREADABLE_AFTER

log = logging.getLogger(__name__)

# RFC 9110, 8.3.1, without parameters.
MEDIA_TYPE = re.compile(r"[\w.+-]{1,63}/[\w.+-]{1,63}", re.ASCII)


@require_safe
@never_cache
def linked_file(request: HttpRequest, token: str) -> HttpResponse:
    """Serves a download. A link that is too old, forged or to an erased file is a 404; a file whose
    encryption key is missing is a 503, as the task itself is."""
    try:
        file = blobs.file_of_link(token)
    except Unreadable:
        log.exception("A file cannot be read: WAKE_ENCRYPTION_KEYS lacks the key of its row")
        return _unreadable()
    return download(file) if file else _not_found()


def download(file: File) -> HttpResponse:
    """Returns a file with headers that keep browsers from running anything in it."""
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
    """Returns the last part of the file's path, in printable characters: a header has no line
    breaks, and a download needs no folders."""
    last = re.split(r"[/\\]", file.filename)[-1]
    name = "".join(letter for letter in last if letter.isprintable())
    return name if name.strip(". ") else "file"


def _not_found() -> HttpResponse:
    text = "There is nothing here, or the link to it is too old: read the task again."
    return HttpResponse(text, content_type="text/plain", status=HTTPStatus.NOT_FOUND)


def _unreadable() -> HttpResponse:
    response = HttpResponse(
        "This file cannot be read for now: the server lacks its encryption key. Nothing is lost; "
        "try again later.",
        content_type="text/plain",
        status=HTTPStatus.SERVICE_UNAVAILABLE,
    )
    response["Retry-After"] = str(RETRY_UNREADABLE_AFTER)
    return response
