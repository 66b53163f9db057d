"""The keys and what they do: the page behind `?`."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from inbox.preferences import preferences_of
from inbox.views.page import PersonRequest, page


@require_safe
@page
def keys(request: PersonRequest) -> HttpResponse:
    return render(
        request, "inbox/help_keys.html", {"keyboard": preferences_of(request.user).keyboard}
    )
