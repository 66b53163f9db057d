"""Answers what fails outside of any view: JSON for a machine, a page for a person."""

from __future__ import annotations

import sys
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render

from database import outages
from wake.api.errors import RETRY_OUTAGE_AFTER, plain_error, unavailable
from wake.server.http.machine_paths import is_machine_path

# The fields of an answer that a person writes in.
WORDS = {"feedback", "edited_content"}


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Django's handler400: what it found before any view could look (a host that is not ours, a
    cut-off body)."""
    message = "This request cannot be read."
    if is_machine_path(request.path_info):
        return plain_error(400, "malformed", message)
    return render(request, "problem.html", {"title": message}, status=400)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if is_machine_path(request.path_info):
        return plain_error(404, "not_found")
    return render(request, "404.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500; 503 where the database is away or busy, with what the person had written
    in a form that sends it again."""
    failure = sys.exc_info()[1]
    is_away, will_pass = outages.is_away(failure), outages.will_pass(failure)
    status, code = (503, "unavailable") if will_pass else (500, "server_error")
    if is_machine_path(request.path_info):
        response = plain_error(status, code, unavailable(failure) if will_pass else None)
    else:
        # No context processors: they would ask the database who is signed in.
        context: dict[str, Any] = {"will_pass": will_pass, "is_away": is_away}
        context |= {"path": request.get_full_path(), "form": _words_in(request)}
        response = render(None, "500.html", context, status=status)
    if will_pass:
        outages.forget_dead(failure)
        response["Retry-After"] = str(RETRY_OUTAGE_AFTER)
    return response


def _words_in(request: HttpRequest) -> list[tuple[str, str]]:
    """Returns every field of a form that sends text to an agent, and nothing of other forms,
    because those may have passwords."""
    try:
        form = request.POST
    except (OSError, MultiPartParserError, SuspiciousOperation):  # it cannot be read
        return []
    if form.keys().isdisjoint(WORDS):
        return []
    return [(name, text) for name, texts in form.lists() for text in texts]
