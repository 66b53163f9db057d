"""Serves the tiles of the log (C2SP tlog-tiles). A tile contains only hashes, so anyone may read
it. The entries are never served."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from accounts.limits import read_limits, throttles
from accounts.log import tiles
from accounts.log.tiles import WIDTH

# A level, an index in groups of three digits, and the width of a tile that is not full.
PATH = re.compile(r"(\d|[1-5]\d|6[0-3])/((?:x\d{3}/){0,5}\d{3})(?:\.p/([1-9]\d{0,2}))?", re.ASCII)
FOR_EVER = "public, max-age=31536000, immutable"


def counted(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Counts the requests of each network, and refuses too many."""

    @wraps(view)
    def limited(request: HttpRequest, **parameters: str) -> HttpResponse:
        try:
            read_limits.count_call(request, None)
        except throttles.TooManyRequests as reason:
            return _too_many(reason)
        return view(request, **parameters)

    return limited


@require_safe
@counted
def tile(request: HttpRequest, path: str) -> HttpResponse:
    """Returns 32 bytes for each hash. A full tile never changes. A tile of a given width never
    changes either. Raises Http404 for a tile that the log does not have yet."""
    level, index, width = _parts(path)
    place = (level, index)
    hashes = tiles.read([place])[place]
    if len(hashes) < width:
        raise Http404
    response = HttpResponse(b"".join(hashes[:width]), content_type="application/octet-stream")
    response["Cache-Control"] = FOR_EVER
    response["Access-Control-Allow-Origin"] = "*"
    return response


def _parts(path: str) -> tuple[int, int, int]:
    """Returns the level, the index and the width of a tile."""
    match = PATH.fullmatch(path)
    if match is None or match[2].startswith("x000/"):
        raise Http404
    width = int(match[3] or WIDTH)
    if match[3] and width >= WIDTH:
        raise Http404
    return int(match[1]), int(re.sub(r"\D", "", match[2])), width


def _too_many(reason: throttles.TooManyRequests) -> HttpResponse:
    error = {"code": "rate_limited", "message": "Too many requests: try again later."}
    response = JsonResponse({"error": error}, status=HTTPStatus.TOO_MANY_REQUESTS)
    response["Retry-After"] = str(reason.retry_after)
    return response
