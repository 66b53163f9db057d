"""Answers errors outside of any view: a machine gets JSON, a person gets a page."""

from __future__ import annotations

import sys
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render

from accounts.access.moves import moves_of
from database import outages
from wake.api import log_context
from wake.api.errors import RETRY_OUTAGE_AFTER, unavailable
from wake.blobs.pictures import TooManyPictures
from wake.server.http.machine_errors import machine_error
from wake.server.http.machine_paths import is_machine_path

# People write text in these fields; their labels are for the error page. No form with a password or
# a code has a field with these names (tests/inbox/pages/test_problem_pages.py).
TEXT_FIELDS = {
    "feedback": "Your message",
    "edited_content": "Your edit",
    "note": "Your message",
    "text": "Your text",
}


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answers errors that Django finds before it calls a view, such as a host that is not allowed
    or a body that was cut off (handler400)."""
    message = "This request cannot be read."
    if is_machine_path(request.path_info):
        return machine_error(request.path_info, 400, "malformed", message)
    return render(request, "problem.html", {"title": message}, status=400)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if is_machine_path(request.path_info):
        return machine_error(request.path_info, 404, "not_found")
    user = getattr(request, "user", None)  # an earlier middleware may have answered
    moves = moves_of(user) if user is not None and user.is_authenticated else []
    return render(request, "404.html", {"moves": moves}, status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answers 500, or 503 while the database is away or the server is busy (handler500). The page
    has a form that sends the person's text again."""
    failure = sys.exc_info()[1]
    is_away = outages.is_away(failure)
    will_pass = outages.will_pass(failure) or isinstance(failure, TooManyPictures)
    status, code = (503, "unavailable") if will_pass else (500, "server_error")
    if is_machine_path(request.path_info):
        message = unavailable(failure) if will_pass else None
        response = machine_error(request.path_info, status, code, message)
    else:
        # Context processors are left out, because they would query the database for the signed-in
        # person.
        context: dict[str, Any] = {"will_pass": will_pass, "is_away": is_away}
        context["request_id"] = log_context.current().request_id
        context |= {"path": request.get_full_path(), "form": _unsent_fields(request)}
        response = render(None, "500.html", context, status=status)
    if will_pass:
        outages.forget_dead(failure)
        response["Retry-After"] = str(RETRY_OUTAGE_AFTER)
    return response


def _unsent_fields(request: HttpRequest) -> list[tuple[str, str, str]]:
    """Returns the names, values and labels of those fields of a form in which a person writes text.
    A hidden field has no label. Returns nothing for other forms, because they may contain
    passwords."""
    try:
        form = request.POST
    except (OSError, MultiPartParserError, SuspiciousOperation):  # the body is malformed
        return []
    if form.keys().isdisjoint(TEXT_FIELDS):
        return []
    return [
        (name, value, TEXT_FIELDS.get(name, ""))
        for name, values in form.lists()
        for value in values
    ]
