"""Shows where the settings start: the state of each page, and what needs attention."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from accounts.access.requests import PersonRequest
from accounts.people.overview import overview_of
from pages.page import page
from pages.settings import settings_page


@require_safe
@page
def settings_start(request: PersonRequest) -> HttpResponse:
    return settings_page(
        request, "accounts/people/overview.html", overview=overview_of(request.user)
    )
