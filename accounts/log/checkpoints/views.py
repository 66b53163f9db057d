"""Serves the newest checkpoint of the log (https://c2sp.org/tlog-tiles)."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from accounts.log.checkpoints import checkpoints
from accounts.log.tile_views import counted


@require_safe
@counted
def checkpoint(request: HttpRequest) -> HttpResponse:
    """Answers with the signed note and the cosignatures. Web pages of other origins may read the
    answer, too. Raises Http404 before the first checkpoint."""
    newest = checkpoints.newest()
    if newest is None:
        raise Http404("The log has no checkpoint yet.")
    response = HttpResponse(
        checkpoints.cosigned_note(newest), content_type="text/plain; charset=utf-8"
    )
    response["Cache-Control"] = "no-cache"  # a proxy would otherwise hide the newest checkpoint
    response["Access-Control-Allow-Origin"] = "*"
    return response
