"""Shows a person what is stored about them, and removes their account."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_POST, require_safe

from accounts.access.requests import PersonRequest, actor
from accounts.people import leaving
from database.clock import database_now
from inbox.audit.streaming import streamed
from inbox.people.data import removal
from inbox.people.data.export import export
from inbox.people.sign_in.reauthentication import requires_password
from pages.page import form_page, page
from pages.redirects import SeeOther
from pages.settings import settings_page

REMOVED = "Your account was removed."


@require_safe
@page
def data_settings(request: PersonRequest) -> HttpResponse:
    return settings_page(request, "inbox/people/settings/data/overview.html")


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
    """Says what goes and what stays, and removes the account when the person says so."""
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
        request, "inbox/people/settings/data/removal.html", known_as=name, problem=problem
    )
    if problem:
        response.status_code = 409
    return response


def _good_bye(request: PersonRequest) -> HttpResponse:
    request.session.flush()
    messages.success(request, REMOVED)
    response = SeeOther("login")
    # Drafts are kept by the browser (static/js/draft.js), which the next person may use, too.
    response["Clear-Site-Data"] = '"storage"'
    return response
