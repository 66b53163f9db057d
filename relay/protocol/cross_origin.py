"""Lets pages of other sites read cards and linked files in a browser (CORS).

These pages can also call agents, but only with a caller key. Otherwise a page could use its
visitor's network to call public agents that the page's own site cannot reach, such as the agents of
a server on an internal network.
"""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

HEADERS = (
    "Authorization",
    "Content-Type",
    "Accept",
    "A2A-Version",
    "A2A-Extensions",
    "X-A2A-Extensions",  # the header's name in 0.3, which SDKs send as well
    "Idempotency-Key",
    "Last-Event-ID",
    "Prefer",
)
KEPT_FOR = 600  # seconds for which browsers keep the answer


def is_preflight(request: HttpRequest) -> bool:
    """Returns whether a browser asks what a page may send (Fetch, "CORS-preflight fetch")."""
    return request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers


def answer_preflight(request: HttpRequest) -> HttpResponse:
    """Allows a call with an Authorization header. The answer about any other call has no
    Access-Control-Allow-Origin header, so the browser refuses the call."""
    asked = request.headers.get("Access-Control-Request-Headers", "").lower().split(",")
    if "authorization" in {name.strip() for name in asked}:
        return preflight_response("POST")
    return HttpResponse(status=HTTPStatus.NO_CONTENT)


def preflight_response(methods: str) -> HttpResponse:
    """Returns an answer that lets pages of other sites use these methods, with A2A's headers."""
    answer = HttpResponse(status=HTTPStatus.NO_CONTENT)
    answer["Access-Control-Allow-Origin"] = "*"
    answer["Access-Control-Allow-Methods"] = methods
    answer["Access-Control-Allow-Headers"] = ", ".join(HEADERS)
    answer["Access-Control-Max-Age"] = str(KEPT_FOR)
    return answer


def let_any_page_read(response: HttpResponseBase) -> HttpResponseBase:
    """Lets any page read content that is available to anyone with its address: a card, or a file by
    its signed link."""
    response["Access-Control-Allow-Origin"] = "*"
    return response


def let_calling_page_read(response: HttpResponse, request: HttpRequest) -> HttpResponse:
    """Lets the page read the answer to a call that came with credentials."""
    if "Origin" in request.headers and "Authorization" in request.headers:
        response["Access-Control-Allow-Origin"] = "*"
        response["Access-Control-Expose-Headers"] = "Retry-After, WWW-Authenticate"
    return response
