"""Provides the middleware. Machines skip the middleware that only browsers need.

The protocol has no cookies. Sessions, CSRF and messages would cost each delivery 50 us, and some of
them answer with HTML while an agent needs JSON.
"""

from __future__ import annotations

import logging
import re
import secrets
import zoneinfo
from collections.abc import Callable
from typing import Any

import brotli  # type: ignore[import-untyped]
from csp.middleware import CSPMiddleware
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.exceptions import SessionInterrupted
from django.contrib.sessions.middleware import SessionMiddleware
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.gzip import GZipMiddleware
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from whitenoise.middleware import WhiteNoiseMiddleware

from accounts.limits import turn_groups
from accounts.sign_in.browsers import sessions
from database.clock import database_now
from pages import recent_writes
from wake.server.http import documentation
from wake.server.http.machine_errors import machine_error
from wake.server.http.machine_paths import is_machine_path, row_of

logger = logging.getLogger(__name__)

ACCEPTS_BROTLI = re.compile(r"(?:^|,)\s*br\s*(?:,|$)").search
MAX_PADDING = 100
LOOPBACK = {"127.0.0.1", "::1"}
READS = {"GET", "HEAD"}
PLAIN_PAGE = (
    f"Open {settings.WAKE_ORIGIN} instead: pages are not sent over plain http.\n\n"
    "If you did open that address, the proxy does not tell Wake that it was https: "
    "see WAKE_PROXY_SCHEME_HEADER in docs/operations.md.\n"
)
GetResponse = Callable[[HttpRequest], HttpResponseBase]


class ProtocolOverHttps:
    """Refuses keys over plain http, except from this machine in development (spec, threat model).
    In production it also refuses pages over plain http, because people enter passwords there.

    It also refuses host names that are not the server's own. So another site, whose name someone
    points to this machine, gets nothing. Raises DisallowedHost, which becomes a 400.

    Raises Http404 for a path with U+0000, because PostgreSQL refuses to look for this character."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if "\0" in request.path_info:
            raise Http404
        row = row_of(request.path_info)
        if row is None and settings.PRODUCTION and not request.is_secure():
            return HttpResponse(PLAIN_PAGE, status=403, content_type="text/plain")
        if row is None or not row.takes_keys:
            return self.get_response(request)
        is_local = settings.DEVELOPMENT and request.META.get("REMOTE_ADDR") in LOOPBACK
        if not (request.is_secure() or is_local):
            return machine_error(request.path_info, 403, "https_required")
        request.get_host()
        return self.get_response(request)


class BrowserOnly:
    """Skips a middleware for machines. The class is synchronous, so under ASGI the whole chain
    takes one switch to a thread instead of a dozen. Consecutive middleware of this kind is skipped
    together."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)  # type: ignore[call-arg]
        following = getattr(get_response, "__wrapped__", None)  # Django wraps each middleware
        self.for_machines: GetResponse = (
            following.for_machines if isinstance(following, BrowserOnly) else get_response
        )

    def __call__(self, request: HttpRequest) -> Any:
        if is_machine_path(request.path_info):
            return self.for_machines(request)
        return super().__call__(request)  # type: ignore[misc]


class BrowserHeaders:
    """Forbids browser features that no page needs, and caching unless a page allows it. Style
    sheets, scripts and icons need no such headers, and a first visit loads six of these files."""

    OF_FILES = {"Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store"}
    OF_PAGES = {
        **OF_FILES,
        "Permissions-Policy": ", ".join(
            f"{feature}=()"
            for feature in (
                *("camera", "microphone", "geolocation", "payment", "usb"),
                *("accelerometer", "gyroscope", "magnetometer", "display-capture"),
            )
        ),
        "Reporting-Endpoints": 'csp="/csp-reports"',
    }

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if not is_machine_path(request.path_info):
            is_file = request.path_info.startswith(settings.STATIC_URL)
            for name, value in (self.OF_FILES if is_file else self.OF_PAGES).items():
                response.headers.setdefault(name, value)
        return response


class BrowserStaticFiles(BrowserOnly, WhiteNoiseMiddleware):  # type: ignore[misc]
    """Serves the static files, and the documentation if `make docs` has built it."""

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)
        if settings.WAKE_DOCUMENTATION.is_dir():
            self.index_file = "index.html"
            self.add_headers_function = documentation.add_headers
            self.add_files(settings.WAKE_DOCUMENTATION, prefix=documentation.PREFIX)


class BrowserCompression(BrowserOnly, GZipMiddleware):
    """Compresses pages, and pads each page with a random number of bytes, so that the length of a
    page reveals nothing about its content (BREACH). Form tokens differ on each page. Brotli output
    is a tenth smaller than gzip and takes no more time.

    A streamed download is not compressed: under ASGI, Django makes each part a gzip member of its
    own, and browsers stop after the first member. A picture is not compressed again. An answer
    without a body is not compressed either: bytes after a 204 would be read as the start of the
    next answer."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> Any:
        if response.streaming or response.headers.get("Content-Type", "").startswith("image/"):
            return response
        accepts_brotli = ACCEPTS_BROTLI(request.headers.get("Accept-Encoding", ""))
        if not (accepts_brotli and isinstance(response, HttpResponse) and _is_page(response)):
            return super().process_response(request, response)
        padding = f"<!-- {secrets.token_hex(secrets.randbelow(MAX_PADDING))} -->".encode()
        response.content = brotli.compress(response.content + padding, quality=5)
        response.headers["Content-Encoding"] = "br"
        response.headers["Content-Length"] = str(len(response.content))
        patch_vary_headers(response, ["Accept-Encoding"])
        return response


def _is_page(response: HttpResponse) -> bool:
    is_html = response.headers.get("Content-Type", "").startswith("text/html")
    return is_html and bool(response.content) and "Content-Encoding" not in response.headers


class BrowserSession(BrowserOnly, SessionMiddleware):
    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """If a request only reads, shows its page even if the session cannot be stored, as on a
        full disk. Only the time at which the person was last seen is lost. Django reports some
        failed writes as a deleted session.

        A request that only reads never deletes the session's cookie. A browser makes requests in
        the background, and the answer to one can arrive after a form has given the session another
        key. Deleting the cookie would then sign the person out."""
        reads = request.method in READS
        try:
            answer = super().process_response(request, response)
        except (DatabaseError, SessionInterrupted) as failure:
            if not reads:
                raise
            logger.warning("A session cannot be stored: %s", failure)
            return response
        cookie = answer.cookies.get(settings.SESSION_COOKIE_NAME)
        if reads and cookie is not None and not cookie.value:
            del answer.cookies[settings.SESSION_COOKIE_NAME]
        return answer


class BrowserCommon(BrowserOnly, CommonMiddleware):
    pass


class BrowserCsrf(BrowserOnly, CsrfViewMiddleware):
    def process_view(self, request: HttpRequest, *view: Any) -> Any:
        """Skips machines here as well, because Django calls process_view outside of the chain."""
        return None if is_machine_path(request.path_info) else super().process_view(request, *view)


class BrowserAuthentication(BrowserOnly, AuthenticationMiddleware):
    """Ends sessions that are too old before the person is looked up."""

    def process_request(self, request: HttpRequest) -> None:
        if SESSION_KEY in request.session:
            sessions.keep_or_end(request.session, at=database_now())
        super().process_request(request)


class BrowserMessages(BrowserOnly, MessageMiddleware):
    pass


class BrowserFrameOptions(BrowserOnly, XFrameOptionsMiddleware):
    pass


class BrowserContentPolicy(BrowserOnly, CSPMiddleware):
    """Sends the content security policy. The admin's policy has no Trusted Types, because its
    jQuery writes HTML."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if request.path_info.startswith("/admin/"):
            response._csp_replace = {  # type: ignore[attr-defined]
                "require-trusted-types-for": None,
                "trusted-types": None,
            }
        return super().process_response(request, response)


class BrowserWrites(BrowserOnly, MiddlewareMixin):
    """Remembers in the browser that it has just sent a form. Only a server with a replica needs
    this middleware."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if request.method not in READS:
            recent_writes.remember_write(response)
        return response


class PersonsTimeZone:
    """Shows every time in the time zone of the signed-in person."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if is_machine_path(request.path_info) or not request.user.is_authenticated:
            return self.get_response(request)
        turn_groups.accept(f"person {request.user.pk}")
        with timezone.override(zoneinfo.ZoneInfo(request.user.time_zone)):
            return self.get_response(request)
