"""Limits the requests that send bad keys."""

from __future__ import annotations

from django.http import HttpRequest

from accounts.limits import throttles

BAD_KEYS = "60/m"


def count_bad_key(request: HttpRequest) -> None:
    """Raises TooManyRequests if one address keeps sending bad keys. Good keys from the same address
    are never counted."""
    throttles.count(
        request, group="bad-key", rate=BAD_KEYS, key=lambda: throttles.client_address(request)
    )
