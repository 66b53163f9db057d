"""Shows the keyboard shortcuts: the page behind `?`."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access.requests import PersonRequest
from inbox.preferences.preferences import preferences_of
from pages.page import page


@require_safe
@page
def keyboard_help(request: PersonRequest) -> HttpResponse:
    return render(
        request,
        "inbox/pages/keyboard_help.html",
        {"keyboard": preferences_of(request.user).keyboard},
    )
