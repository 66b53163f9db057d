"""Windows that close before the person is back, and windows that have passed with no answer."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from inbox import assumed, leaving, switch
from inbox.slices import Cursor
from inbox.viewer import Viewer
from inbox.views.page import PersonRequest, page


@require_safe
@page
def before_leaving(request: PersonRequest) -> HttpResponse:
    now = timezone.now()
    back = leaving.back_at_work(request.user, at=now)
    viewer = Viewer.of(request.user)
    here = switch.chosen(viewer, request.GET)
    found = leaving.closing(here, at=now, until=back)
    context = {
        "here": "inbox",
        "now": now,
        "in_team": switch.slug_of(request.GET),
        "tabs": switch.tabs(viewer, switch.slug_of(request.GET)),
        "until": leaving.until_when(back, at=now),
        "closing": found[: leaving.LISTED],
        "has_more": len(found) > leaving.LISTED,
    }
    return render(request, "inbox/leaving.html", context)


@require_safe
@page
def what_was_assumed(request: PersonRequest) -> HttpResponse:
    now = timezone.now()
    before = Cursor.read(request.GET.get("before", ""))
    lines, older = assumed.page(Viewer.of(request.user), at=now, before=before)
    context = {
        "here": "history",
        "now": now,
        "lines": lines,
        "older": older,
        "is_later_page": before is not None,
    }
    return render(request, "inbox/assumed.html", context)
