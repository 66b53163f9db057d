"""Takes the browsers' reports of blocked content (Content-Security-Policy) and logs each kind once
an hour.

Anyone can send a report, so nothing in it is trusted. The log contains only words from a fixed
list, and never an address, a page or a script of the report.
"""

from __future__ import annotations

import logging
import threading
import time
from math import inf
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from accounts.limits import throttles
from wake.api.errors import plain_error
from wake.api.parsers import Malformed, parse_strictly

log = logging.getLogger(__name__)

AGAIN_AFTER_SECONDS = 3600.0
REPORTS_AT_ONCE = 100
LONGEST_ADDRESS = 2_048
REPORTS = "60/m"  # from one network
DIRECTIVES = {
    *(f"{kind}-src" for kind in ("child", "connect", "default", "fenced-frame", "font", "frame")),
    *(f"{kind}-src" for kind in ("img", "manifest", "media", "object", "prefetch", "worker")),
    *(f"{kind}-src{part}" for kind in ("script", "style") for part in ("", "-attr", "-elem")),
    *("base-uri", "form-action", "frame-ancestors", "navigate-to", "sandbox"),
    *("require-trusted-types-for", "trusted-types"),
}
# The words that browsers send instead of an address, and the schemes of the resources that they
# block most.
KEYWORDS = {"inline", "eval", "wasm-eval", "trusted-types-policy", "trusted-types-sink"}
SCHEMES = {"about", "blob", "data", "filesystem", "http", "https", "ws", "wss"}
EXTENSIONS = ("extension", "resource")  # chrome-extension, moz-extension, safari-web-extension

Kind = tuple[str, str]


class Seen:
    """Remembers which kinds were logged in the last hour, and counts the others. There are few
    kinds: each is an existing directive and one of our words."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds: dict[Kind, tuple[float, int]] = {}

    def record(self, kind: Kind, *, at: float) -> int | None:
        """Returns how many reports of the kind came since its last line, including this one.
        Returns None if it is too early for another line."""
        with self._lock:
            logged_at, unlogged = self._kinds.get(kind, (-inf, 0))
            if at - logged_at < AGAIN_AFTER_SECONDS:
                self._kinds[kind] = logged_at, unlogged + 1
                return None
            self._kinds[kind] = at, 0
            return unlogged + 1


_seen = Seen()


@csrf_exempt
def csp_reports(request: HttpRequest) -> HttpResponse:
    """Logs the reports in a request. A request has one report (CSP level 2) or a list (Reporting
    API)."""
    if request.method != "POST":
        response = plain_error(405, "method_not_allowed")
        response["Allow"] = "POST"
        return response
    try:
        throttles.count(
            request,
            group="csp-report",
            rate=REPORTS,
            key=lambda: throttles.client_network(request),
        )
        kinds = _kinds(request)
    except throttles.TooManyRequests as error:
        response = plain_error(429, "rate_limited")
        response["Retry-After"] = str(error.retry_after)
        return response
    except Malformed as error:
        return plain_error(400, "malformed", str(error))
    for kind in kinds:
        if count := _seen.record(kind, at=time.monotonic()):
            log.warning("A browser blocked content: %s, %s (reports: %d)", *kind, count)
    return HttpResponse(status=204)


def _kinds(request: HttpRequest) -> list[Kind]:
    """Returns the kinds of violations that a browser reports. Raises Malformed."""
    body = parse_strictly(request.body)
    match request.content_type, body:
        case "application/csp-report", {"csp-report": dict(report)}:
            directive = report.get("effective-directive") or report.get("violated-directive")
            return [_kind(directive, report.get("blocked-uri"))]
        case "application/reports+json", [*reports] if len(reports) <= REPORTS_AT_ONCE:
            return [kind for report in reports if (kind := _kind_of(report))]
    raise Malformed("This is no report of a Content-Security-Policy.")


def _kind_of(report: Any) -> Kind | None:
    """Returns the kind of a report, or None if the report is about something else, such as a
    deprecated feature."""
    match report:
        case {"type": "csp-violation", "body": dict(body)}:
            return _kind(body.get("effectiveDirective"), body.get("blockedURL"))
        case {"type": str(kind)} if kind != "csp-violation":
            return None
    raise Malformed("This is no report of the Reporting API.")


def _kind(directive: Any, blocked: Any) -> Kind:
    """Returns the kind with this directive and source. Raises Malformed for an unknown
    directive."""
    # Older browsers report the whole directive, with its sources.
    name = directive.strip().partition(" ")[0] if isinstance(directive, str) else ""
    if name not in DIRECTIVES or not isinstance(blocked, str | None):
        raise Malformed("The report names no directive of a Content-Security-Policy.")
    return name, _blocked(blocked or "")


def _blocked(text: str) -> str:
    """Returns one of our words for the blocked resource. A long address is cut, because urlsplit
    takes quadratic time for its host."""
    text = text[:LONGEST_ADDRESS]
    if text in KEYWORDS:
        return text
    try:
        url = urlsplit(text)
        scheme, host = (url.scheme or text).lower(), url.hostname
    except ValueError:
        return "something else"
    if host and host == urlsplit(settings.WAKE_ORIGIN).hostname:
        return "an address of this server"
    if scheme in SCHEMES:
        return scheme
    return "a browser extension" if scheme.endswith(EXTENSIONS) else "something else"
