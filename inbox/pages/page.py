"""Provides what all pages share: sign-in, redirects, and finding a delivery."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, wraps
from http import HTTPStatus
from typing import Any, Concatenate, ParamSpec, cast
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.audit import Actor, person
from accounts.limits.throttles import client_address
from accounts.models import Membership, User
from accounts.sign_in.owed_factor import is_owed
from database.compiled_queries import CompiledQuery, parameter
from database.encryption import Unreadable
from inbox.answering.drafts import with_draft
from inbox.delivery.discussion.comments import with_discussion
from inbox.delivery.timeline import with_key
from wake.blobs.pictures import TooManyPictures
from wake.models import Delivery
from wake.server.http.error_handlers import server_error

log = logging.getLogger(__name__)

P = ParamSpec("P")
# What a person may open who has to set up a second factor first, by the name of the address.
OPEN_WITHOUT_SECOND_FACTOR = {
    *("confirm-password", "confirm-with-provider", "settings-leave", "settings-security"),
    *("confirm-with-passkey", "confirm-with-passkey-options", "settings-second-factor"),
    *("settings-passkey-new", "settings-passkey-new-options"),
}
# CPython adds 1,000 to the slots of a frame, and doubles 16 kB until they fit: the frame has a
# chunk of 64 kB, and leaves 39 kB of it to those that it calls.
ROOM_SLOTS = 3_100
form_page = require_http_methods(["GET", "HEAD", "POST"])


class PersonRequest(HttpRequest):
    """Carries the person who is signed in."""

    user: User


def actor(request: PersonRequest) -> Actor:
    """Returns the person and the address of their request, for the audit."""
    return person(request.user, client_address(request))


def posted_text(request: HttpRequest, name: str) -> str:
    """Returns a text that no form checks, without U+0000, which PostgreSQL refuses."""
    return request.POST.get(name, "").replace("\0", "")


class SeeOther(HttpResponseRedirect):
    """Redirects with 303, so that a reload of the next page sends nothing again."""

    status_code = HTTPStatus.SEE_OTHER

    def __init__(self, name: str, *, query: str = "", fragment: str = "", **kwargs: Any) -> None:
        end = ("?" if query else "") + query + ("#" if fragment else "") + fragment
        super().__init__(reverse(name, kwargs=kwargs) + end)


def page(
    view: Callable[Concatenate[PersonRequest, P], HttpResponseBase],
) -> Callable[..., Any]:
    """Forbids caching, and requires what for_person() does."""
    return never_cache(for_person(view))


def for_person(
    view: Callable[Concatenate[PersonRequest, P], HttpResponseBase],
) -> Callable[..., Any]:
    """Requires sign-in, and a second factor if a team of the person does. Shows a page of its own
    if content cannot be decrypted, or the server decodes too many pictures. What the view does not
    let browsers keep, they do not keep (wake/server/http/middleware.py, BrowserHeaders)."""
    signed_in_view: Callable[..., HttpResponseBase] = login_required(cast(Any, view))

    @wraps(view)
    def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.method == "POST" and not request.user.is_authenticated:
            return redirect_to_login(page_of_the_form(request))
        if _must_set_up_second_factor(request):
            return SeeOther("settings-second-factor")
        try:
            return with_room(lambda: signed_in_view(request, *args, **kwargs))
        except Unreadable:
            log.exception("Content cannot be read: WAKE_ENCRYPTION_KEYS lacks the key of a row")
            return render(request, "unreadable.html", status=HTTPStatus.SERVICE_UNAVAILABLE)
        except TooManyPictures:
            return server_error(request)

    return guarded


def with_room(view: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """Calls the view with room for deep calls.

    CPython keeps frames in chunks of 16 kB, and a call across the end of a chunk is two system
    calls and a page fault. Templates call deeply and return often. This function says that it needs
    more stack than a chunk has, so its frame gets a larger one
    (docs/decisions/0047-a-page-has-one-piece-of-stack.md).
    """
    return view()


with_room.__code__ = with_room.__code__.replace(co_stacksize=ROOM_SLOTS)


def _must_set_up_second_factor(request: HttpRequest) -> bool:
    """Returns whether the person has to set one up before they may open this address."""
    owes = is_owed(request)
    here = request.resolver_match.url_name if request.resolver_match else None
    return owes and here not in OPEN_WITHOUT_SECOND_FACTOR


def page_of_the_form(request: HttpRequest) -> str:
    """Returns the page of the form that was sent, where the person continues after signing in
    again: the server stored nothing, and their browser kept what they typed."""
    referer = request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(referer, {request.get_host()}):
        return reverse("inbox")
    return urlsplit(referer)._replace(scheme="", netloc="").geturl()


def too_many(response: HttpResponse, seconds: int) -> HttpResponse:
    """Sets the status 429 and its Retry-After header on the response."""
    response.status_code = HTTPStatus.TOO_MANY_REQUESTS
    response["Retry-After"] = str(seconds)
    return response


def find_delivery(user: User, pk: UUID) -> Delivery:
    """Returns the delivery with its agent, answer, callback, predecessor and this person's draft;
    raises Http404 for one that is not theirs."""
    deliveries: list[Delivery] = _delivery_of_person().objects(user=user.pk, pk=pk)
    if not deliveries:
        raise Http404
    return deliveries[0]


@cache
def _delivery_of_person() -> CompiledQuery:
    user = parameter("user", Membership, "user")
    own_deliveries = with_draft(Delivery.objects.for_person(user), user)
    with_relations = with_discussion(with_key(own_deliveries), user).select_related(
        "agent", "response__callback", "supersedes__response"
    )
    delivery = with_relations.filter(pk=parameter("pk", Delivery, "id"))
    return CompiledQuery(lambda: delivery.defer("response__callback__body"))
