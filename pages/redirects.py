"""Redirects people: to a named page, to the page that they wanted, or back to a form."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils.encoding import iri_to_uri
from django.utils.http import url_has_allowed_host_and_scheme


class SeeOther(HttpResponseRedirect):
    """Redirects with 303, so that reloading the next page sends nothing again."""

    status_code = HTTPStatus.SEE_OTHER

    def __init__(self, name: str, *, query: str = "", fragment: str = "", **kwargs: Any) -> None:
        end = ("?" if query else "") + query + ("#" if fragment else "") + fragment
        super().__init__(reverse(name, kwargs=kwargs) + end)


def see_path(path: str) -> HttpResponse:
    """Redirects with 303 to a path of this server."""
    return HttpResponse(status=HTTPStatus.SEE_OTHER, headers={"Location": iri_to_uri(path)})


def next_path(request: HttpRequest) -> str:
    """Returns the path to continue with, from the parameter `next` of the form or the address. If
    `path` leads to another server, redirects to the first page instead."""
    path = request.POST.get("next") or request.GET.get("next", "")
    return path if _is_ours(request, path) else _first_page()


def page_of_the_form(request: HttpRequest) -> str:
    """Returns the page of the sent form, where the person continues after signing in again. The
    server has not stored the form, but the person's browser has kept the typed text."""
    referer = request.headers.get("Referer", "")
    if not _is_ours(request, referer):
        return _first_page()
    return urlsplit(referer)._replace(scheme="", netloc="").geturl()


def _is_ours(request: HttpRequest, address: str) -> bool:
    return url_has_allowed_host_and_scheme(address, {request.get_host()})


def _first_page() -> str:
    return resolve_url(settings.LOGIN_REDIRECT_URL)
