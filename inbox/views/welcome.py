"""The first run, as long as no agent has delivered anything."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from inbox import welcome
from inbox.viewer import Viewer
from inbox.views.page import PersonRequest, page


@require_safe
@page
def show(request: PersonRequest) -> HttpResponse:
    viewer = Viewer.of(request.user)
    context = {
        "here": "inbox",
        "viewer": viewer,
        "first_run": welcome.first_run(viewer, at=timezone.now()),
        "has_delivered": welcome.has_delivered(viewer),
    }
    return render(request, "inbox/welcome.html", context)
