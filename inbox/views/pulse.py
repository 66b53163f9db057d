"""What an open page asks now and then: has more come?"""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from inbox import pulse, switch
from inbox.viewer import Viewer
from inbox.views.page import PersonRequest, page


@require_safe
@page
def show(request: PersonRequest) -> HttpResponse:
    """204, or the line that leads to them; no row moves by itself."""
    since = pulse.read_mark(request.GET.get("since", ""))
    viewer = switch.chosen(Viewer.of(request.user), request.GET)
    count = pulse.new_since(viewer, since) if since else ""
    if not count:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    context = {"count": count, "in_team": switch.slug_of(request.GET)}
    return render(request, "inbox/_pulse.html", context)
