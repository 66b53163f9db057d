"""Shows people what they have just done: a browser that sent a form reads from the primary."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from database.postgresql.replica import Read, from_primary, from_replica

# A replica that is in use is at most MAX_LAG_SECONDS + CHECK_SECONDS behind, which is less.
SECONDS = 10
COOKIE = "__Host-wrote" if settings.SESSION_COOKIE_SECURE else "wrote"


def remember_write(response: HttpResponseBase) -> None:
    response.set_cookie(
        COOKIE,
        "1",
        max_age=SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def reader_for(request: HttpRequest) -> Read:
    """Returns how the request reads what may be a few seconds old."""
    return from_primary if COOKIE in request.COOKIES else from_replica
