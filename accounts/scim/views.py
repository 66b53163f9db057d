"""Lets the company's directory in by its bearer token (RFC 6750)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.csrf import csrf_exempt

from accounts.agents.limits import count_bad_key
from accounts.limits import read_limits, throttles
from accounts.scim import errors
from accounts.sign_in.oidc import provider


@csrf_exempt
def scim(request: HttpRequest, path: str) -> HttpResponse:
    """Answers every path of SCIM. Without a token in the settings, none of them exists."""
    directory = provider.configured()
    if directory is None or not settings.WAKE_SCIM_TOKENS:
        raise Http404
    try:
        read_limits.count_call(request, None)
        if not _has_token(request):
            count_bad_key(request)
            return errors.unauthorized()
    except throttles.TooManyRequests as reason:
        return errors.too_many(reason.retry_after)
    by = replace(directory.actor, address=throttles.client_address(request))
    response: HttpResponse = _protocol().answer(request, path, provider=directory, by=by)
    return response


def _has_token(request: HttpRequest) -> bool:
    """Compares with every token, so that the time says nothing about them."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    fits = [constant_time_compare(text.strip(), token) for token in settings.WAKE_SCIM_TOKENS]
    return scheme.lower() == "bearer" and any(fits)


@cache
def _protocol() -> Any:
    return import_module("accounts.scim.protocol")
