"""Recognises browsers in which a person has signed in before.

Attempts in such browsers are counted separately, so that attempts from elsewhere cannot lock the
person out. A signed cookie names the browser for a year, and does not sign anyone in
(docs/decisions/0013-sign-in-is-our-own.md).
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.crypto import salted_hmac

SALT = "accounts.sign_in.known_browsers"
AGE = timedelta(days=365)
PEOPLE = 4  # at most four people are remembered in one browser


def cookie_name() -> str:
    return "__Host-known" if settings.SESSION_COOKIE_SECURE else "known"


def known_as(request: HttpRequest, email: str) -> str:
    """Returns this browser's id if that person has signed in with it; otherwise an empty text."""
    known = _read(request)
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    is_known = any(_mark(email, key=key) in known["people"] for key in keys)
    return known["id"] if is_known else ""


def remember(request: HttpRequest, response: HttpResponseBase, email: str) -> None:
    known = _read(request)
    mark = _mark(email)
    people = [mark, *(other for other in known["people"] if other != mark)]
    response.set_cookie(
        cookie_name(),
        signing.dumps({"id": known["id"], "people": people[:PEOPLE]}, salt=SALT),
        max_age=AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _read(request: HttpRequest) -> dict[str, Any]:
    cookie = request.COOKIES.get(cookie_name(), "")
    try:
        known: dict[str, Any] = signing.loads(cookie, salt=SALT, max_age=AGE)
    except signing.BadSignature:
        return {"id": secrets.token_urlsafe(12), "people": []}
    return known


def _mark(email: str, *, key: str | None = None) -> str:
    """Hashes the e-mail address, because no person is looked up before the password is right. The
    default key is the newest one."""
    address = email.strip().lower()
    return salted_hmac(SALT, address, secret=key, algorithm="sha256").hexdigest()[:24]
