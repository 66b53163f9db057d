"""Wraps the views of pages: they require sign-in, and browsers do not store them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from database.encryption import Unreadable
from pages.redirects import page_of_the_form

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R", bound=HttpRequest)
# Returns a response instead of the page, or None if the page may be shown.
Check = Callable[[HttpRequest], HttpResponse | None]
ErrorPage = Callable[[HttpRequest], HttpResponse]

# CPython adds 1,000 to the slots that a frame needs, and doubles the chunk of 16 kB until the slots
# fit. So the frame has a chunk of 64 kB, and leaves 39 kB of it to the frames that it calls.
ROOM_SLOTS = 3_100
form_page = require_http_methods(["GET", "HEAD", "POST"])
_checks: list[Check] = []
_error_pages: dict[type[Exception], ErrorPage] = {}


def register_check(check: Check) -> None:
    """Adds a check that every page makes before its view. Apps register their checks when they
    start."""
    _checks.append(check)


def register_error_page(error: type[Exception], error_page: ErrorPage) -> None:
    """Shows this page when a view raises the error. Apps register their error pages when they
    start."""
    _error_pages[error] = error_page


def posted_text(request: HttpRequest, name: str) -> str:
    """Returns a posted text that no form validates. Removes U+0000, because PostgreSQL refuses
    it."""
    return request.POST.get(name, "").replace("\0", "")


def page(view: Callable[Concatenate[R, P], HttpResponseBase]) -> Callable[..., Any]:
    """Decorates the view of a page: forbids caching, and adds the requirements of for_person()."""
    return never_cache(for_person(view))


def for_person(view: Callable[Concatenate[R, P], HttpResponseBase]) -> Callable[..., Any]:
    """Requires sign-in, and makes the registered checks. Shows an error page if content cannot be
    decrypted, and for the registered errors. Browsers cache nothing unless the view allows it
    (wake/server/http/middleware.py, BrowserHeaders)."""
    signed_in_view: Callable[..., HttpResponseBase] = login_required(cast(Any, view))

    @wraps(view)
    def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.method == "POST" and not request.user.is_authenticated:
            return redirect_to_login(page_of_the_form(request))
        for check in _checks:
            if other_page := check(request):
                return other_page
        try:
            return with_room(lambda: signed_in_view(request, *args, **kwargs))
        except Unreadable:
            log.exception("Content cannot be read: WAKE_ENCRYPTION_KEYS lacks the key of a row")
            return render(request, "unreadable.html", status=HTTPStatus.SERVICE_UNAVAILABLE)
        except tuple(_error_pages) as error:
            return _page_about(error)(request)

    return guarded


def _page_about(error: Exception) -> ErrorPage:
    return next(show for kind, show in _error_pages.items() if isinstance(error, kind))


def with_room(view: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """Calls the view with room for deep calls.

    CPython keeps frames in chunks of 16 kB, and a call across the end of a chunk costs two system
    calls and a page fault. Templates call deeply and return often. This function declares that it
    needs more stack than a chunk has, so its frame gets a larger chunk
    (docs/decisions/0047-a-page-has-one-piece-of-stack.md).
    """
    return view()


with_room.__code__ = with_room.__code__.replace(co_stacksize=ROOM_SLOTS)


def too_many(response: HttpResponse, seconds: int) -> HttpResponse:
    """Sets the status 429 and its Retry-After header on the response."""
    response.status_code = HTTPStatus.TOO_MANY_REQUESTS
    response["Retry-After"] = str(seconds)
    return response
