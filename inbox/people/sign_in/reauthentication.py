"""Asks for the password once more, before what a page left open must not do: for 15 minutes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import iri_to_uri
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters

from accounts import sessions
from accounts.audit import Actor, record
from accounts.throttles import TooMany, client_address, count_sign_in, is_worth_an_event
from inbox.forms_sign_in import PasswordAgainForm
from inbox.views.page import PersonRequest, SeeOther, form_page, page, page_of_the_form, too_many

P = ParamSpec("P")


def password_again(
    view: Callable[Concatenate[PersonRequest, P], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Stands below `@page`. What was sent without it is not stored: the person comes back to the
    page of the form."""

    @wraps(view)
    def show(request: PersonRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if sessions.is_password_fresh(request.session, at=timezone.now()):
            return view(request, *args, **kwargs)
        is_form = request.method == "POST"
        to = page_of_the_form(request) if is_form else request.get_full_path()
        return SeeOther("password-again", query=urlencode({"next": to}))

    return show


@sensitive_post_parameters()
@form_page
@page
def ask(request: PersonRequest) -> HttpResponse:
    """Counted together with sign-ins: whoever finds a page left open must not guess here."""
    if request.method != "POST":
        return _ask(request, PasswordAgainForm(request.user))
    try:
        count_sign_in(request, request.user.email)
    except TooMany as error:
        empty = PasswordAgainForm(request.user)
        return too_many(_ask(request, empty, wait=error.retry_after), error.retry_after)
    form = PasswordAgainForm(request.user, request.POST)
    if not form.is_valid():
        _audit(request, form)
        return _ask(request, form)
    sessions.password_was_written(request.session, at=timezone.now())
    to = iri_to_uri(_to(request))
    return HttpResponse(status=HTTPStatus.SEE_OTHER, headers={"Location": to})


def _ask(request: PersonRequest, form: PasswordAgainForm, **context: Any) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    context = {"form": form, "next": _to(request), **context}
    return render(request, "inbox/password_again.html", context, status=status)


def _to(request: PersonRequest) -> str:
    """A page of ours."""
    to = request.POST.get("next") or request.GET.get("next", "")
    return to if url_has_allowed_host_and_scheme(to, {request.get_host()}) else reverse("inbox")


def _audit(request: PersonRequest, form: PasswordAgainForm) -> None:
    if form.has_error("password", "wrong") and is_worth_an_event(request):
        by = Actor("nobody", address=client_address(request))
        record("person.password_refused", by=by, of=request.user, team=None)
