"""Serves the large files of tasks by signed links."""

from __future__ import annotations

import logging
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.limits import read_limits, throttles
from database.encryption import Unreadable
from relay.content import blobs
from relay.protocol import cross_origin
from wake.api.errors import RETRY_UNREADABLE_AFTER
from wake.server.http.downloads import download

log = logging.getLogger(__name__)


@require_safe
@never_cache
def linked_file(request: HttpRequest, token: str) -> HttpResponseBase:
    """Serves a download. The answer is a 404 if the link is too old or forged, or its file is
    erased. The answer is a 503 if the file's encryption key is missing, as for the task itself.
    Reads are counted by network, because a link needs no key."""
    try:
        read_limits.count_call(request, None)
        file = blobs.file_of_link(token)
    except throttles.TooManyRequests as reason:
        return _too_many(reason)
    except Unreadable:
        log.exception("A file cannot be read: WAKE_ENCRYPTION_KEYS lacks the key of its row")
        return _unreadable()
    return cross_origin.let_any_page_read(download(file)) if file else _not_found()


def _not_found() -> HttpResponse:
    text = "There is nothing here, or the link to it is too old: read the task again."
    return HttpResponse(text, content_type="text/plain", status=HTTPStatus.NOT_FOUND)


def _too_many(reason: throttles.TooManyRequests) -> HttpResponse:
    response = HttpResponse(
        "Too many files were read from this network: try again later.",
        content_type="text/plain",
        status=HTTPStatus.TOO_MANY_REQUESTS,
    )
    response["Retry-After"] = str(reason.retry_after)
    return response


def _unreadable() -> HttpResponse:
    response = HttpResponse(
        "This file cannot be read for now: the server lacks its encryption key. Nothing is lost; "
        "try again later.",
        content_type="text/plain",
        status=HTTPStatus.SERVICE_UNAVAILABLE,
    )
    response["Retry-After"] = str(RETRY_UNREADABLE_AFTER)
    return response
