"""Answers clients that ask too often, in the form of OAuth's errors (RFC 6749, 5.2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase

from accounts.limits.throttles import TooManyRequests

View = Callable[..., HttpResponseBase]


def limited(count: Callable[[HttpRequest], None]) -> Callable[[View], View]:
    """Decorates the view of an endpoint: counts each request first."""

    def decorate(view: View) -> View:
        @wraps(view)
        def counted(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                count(request)
            except TooManyRequests as refusal:
                return too_many(refusal.retry_after)
            return view(request, *args, **kwargs)

        return counted

    return decorate


def too_many(retry_after: int) -> HttpResponse:
    response = error("temporarily_unavailable", "Too many requests. Try again later.", status=429)
    response["Retry-After"] = str(retry_after)
    return response


def error(code: str, description: str, *, status: int = 400) -> HttpResponse:
    response = JsonResponse({"error": code, "error_description": description}, status=status)
    response["Cache-Control"] = "no-store"
    return response
