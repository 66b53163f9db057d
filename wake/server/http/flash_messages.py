"""Stores the message that a page shows after a form, in a cookie with the same prefix as the other
cookies."""

from __future__ import annotations

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage


class HostCookie(CookieStorage):
    cookie_name = "__Host-messages" if settings.SESSION_COOKIE_SECURE else "messages"


class Notices(FallbackStorage):
    """Stores a message in the session if it is too long for a cookie."""

    storage_classes = (HostCookie, SessionStorage)
