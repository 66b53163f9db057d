"""Shows a person the data about them, and removes their account."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_POST, require_safe

from accounts.access.requests import PersonRequest, actor
from accounts.people import leaving
from accounts.people.data import removal
from accounts.people.data.export import export
from accounts.sign_in.reauthentication import requires_password
from database.clock import database_now
from pages.page import form_page, page
from pages.redirects import SeeOther
from pages.settings import settings_page
from pages.streaming import streamed

REMOVED = "Your account was removed."


@require_safe
@page
def data_settings(request: PersonRequest) -> HttpResponse:
    return settings_page(request, "accounts/people/data/overview.html")


@require_POST
@page
@requires_password
def download_data(request: PersonRequest) -> HttpResponseBase:
    now = database_now()
    parts = export(request.user, here=request.session, by=actor(request), at=now)
    return streamed(
        request,
        lambda: parts,
        name=f"wake-{now:%Y-%m-%d}.json",
        content_type="application/json; charset=utf-8",
    )


@form_page
@page
@requires_password
def remove_account(request: PersonRequest) -> HttpResponse:
    """Shows what is removed and what stays. Removes the account when the person confirms."""
    problem = ""
    if request.method == "POST":
        try:
            removal.remove(request.user, by=actor(request), at=database_now())
        except leaving.OwnsAlone as reason:
            problem = str(reason)
        else:
            return _good_bye(request)
    name = removal.known_as(request.user)
    response = settings_page(
        request, "accounts/people/data/removal.html", known_as=name, problem=problem
    )
    if problem:
        response.status_code = 409
    return response


def _good_bye(request: PersonRequest) -> HttpResponse:
    request.session.flush()
    messages.success(request, REMOVED)
    response = SeeOther("login")
    # The browser stores drafts (static/js/draft.js), and the next person may use the same browser.
    response["Clear-Site-Data"] = '"storage"'
    return response
