"""What stands around the views: the browser's middleware keeps off the protocol, which has no
cookies and is hot.

Sessions, CSRF, messages and the rest cost a delivery 50 us for nothing, and some of them answer
HTML where an agent needs JSON.
"""

from __future__ import annotations

import re
import secrets
import zoneinfo
from collections.abc import Callable
from typing import Any

import brotli  # type: ignore[import-untyped]
from csp.middleware import CSPMiddleware
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.gzip import GZipMiddleware
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from whitenoise.middleware import WhiteNoiseMiddleware

from accounts import sessions
from wake import errors

TAKES_BROTLI = re.compile(r"(?:^|,)\s*br\s*(?:,|$)").search
PADDED_BY = 100
LOOPBACK = {"127.0.0.1", "::1"}
PROTOCOL = ("/wake/", "/@", "/connect/", "/.well-known/", "/healthz", "/readyz")
TAKES_KEYS = ("/wake", "/@", "/connect/")
GetResponse = Callable[[HttpRequest], HttpResponseBase]


def is_protocol(request: HttpRequest) -> bool:
    """Paths that machines ask for: they answer JSON and take keys, never cookies."""
    return request.path_info.startswith(PROTOCOL) or request.path_info == "/wake"


class ProtocolOverHttps:
    """Refuses plain http wherever a key is sent, except from this machine in development (spec,
    threat model)."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.is_secure() or not request.path_info.startswith(TAKES_KEYS):
            return self.get_response(request)
        if settings.DEVELOPMENT and request.META.get("REMOTE_ADDR") in LOOPBACK:
            return self.get_response(request)
        return errors.https_required()


class BrowserOnly:
    """Lets the protocol past. Synchronous, so that under ASGI the whole chain is one hop to a
    thread, not a dozen."""

    sync_capable = True
    async_capable = False

    def __call__(self, request: HttpRequest) -> Any:
        if is_protocol(request):
            return self.get_response(request)  # type: ignore[attr-defined]
        return super().__call__(request)  # type: ignore[misc]


class BrowserHeaders:
    """What no page needs from a browser; and no page is kept, unless it says so itself."""

    HEADERS = {
        "Permissions-Policy": ", ".join(
            f"{feature}=()"
            for feature in (
                *("camera", "microphone", "geolocation", "payment", "usb"),
                *("accelerometer", "gyroscope", "magnetometer", "display-capture"),
            )
        ),
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if not is_protocol(request):
            for name, value in self.HEADERS.items():
                response.headers.setdefault(name, value)
        return response


class BrowserStaticFiles(BrowserOnly, WhiteNoiseMiddleware):  # type: ignore[misc]
    pass


class BrowserCompression(BrowserOnly, GZipMiddleware):
    """Pads each page by a random number of bytes, so that its length tells nothing of what is in it
    (BREACH); the tokens of its forms are other ones each time. Brotli takes a tenth less than gzip
    and no more time."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> Any:
        takes_it = TAKES_BROTLI(request.headers.get("Accept-Encoding", ""))
        if not (takes_it and isinstance(response, HttpResponse) and _is_page(response)):
            return super().process_response(request, response)
        padding = f"<!-- {secrets.token_hex(secrets.randbelow(PADDED_BY))} -->".encode()
        response.content = brotli.compress(response.content + padding, quality=5)
        response.headers["Content-Encoding"] = "br"
        response.headers["Content-Length"] = str(len(response.content))
        patch_vary_headers(response, ["Accept-Encoding"])
        return response


def _is_page(response: HttpResponse) -> bool:
    is_html = response.headers.get("Content-Type", "").startswith("text/html")
    return is_html and "Content-Encoding" not in response.headers


class BrowserSession(BrowserOnly, SessionMiddleware):
    pass


class BrowserCommon(BrowserOnly, CommonMiddleware):
    pass


class BrowserCsrf(BrowserOnly, CsrfViewMiddleware):
    def process_view(self, request: HttpRequest, *view: Any) -> Any:
        """Django calls it apart from the chain, so that the protocol comes past here, too."""
        return None if is_protocol(request) else super().process_view(request, *view)


class BrowserAuthentication(BrowserOnly, AuthenticationMiddleware):
    """Whoever was away too long, or signed in too long ago, is nobody from here on."""

    def process_request(self, request: HttpRequest) -> None:
        sessions.keep_or_end(request.session, at=timezone.now())
        super().process_request(request)


class BrowserMessages(BrowserOnly, MessageMiddleware):
    pass


class BrowserFrameOptions(BrowserOnly, XFrameOptionsMiddleware):
    pass


class BrowserContentPolicy(BrowserOnly, CSPMiddleware):
    """Django's admin writes HTML with jQuery, which Trusted Types forbid; it keeps all the other
    directives."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if request.path_info.startswith("/admin/"):
            response._csp_replace = {  # type: ignore[attr-defined]
                "require-trusted-types-for": None,
                "trusted-types": None,
            }
        return super().process_response(request, response)


class PersonsTimeZone:
    """Shows every time in the zone of the person who is signed in."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if is_protocol(request) or not request.user.is_authenticated:
            return self.get_response(request)
        with timezone.override(zoneinfo.ZoneInfo(request.user.time_zone)):
            return self.get_response(request)
