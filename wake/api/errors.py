"""Turns exceptions into answers: the one place that knows which fact is which status code
(PROTOCOL.md, Errors)."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render
from rest_framework import exceptions

from accounts.encryption import Unreadable
from accounts.quota import Allowance, KeyEnded, QuotaSpent
from accounts.throttles import TooMany
from wake import connections, wire
from wake.connections import DATABASE_AWAY
from wake.deliveries import AgentMismatch, AgentPaused, IdempotencyConflict
from wake.destinations import Refused
from wake.parsers import BodyTooLarge, Malformed
from wake.threads import UnknownRevision

logger = logging.getLogger(__name__)

# Whatever goes wrong there, a machine reads it.
ANSWER_JSON = ("/wake/", "/@", "/connect/", "/.well-known/")
RETRY_OUTAGE_AFTER = 2
RETRY_PAUSED_AFTER = 3600
RETRY_UNREADABLE_AFTER = 60
# The fields of an answer that a person writes in.
WORDS = {"feedback", "edited_content"}
# What DRF calls a field that is not there: 400. Whatever else it finds is there and does not fit:
# 422.
ABSENT = {"required", "null"}

FACTS: dict[type[Exception], tuple[int, str]] = {
    Malformed: (400, "malformed"),
    exceptions.ParseError: (400, "malformed"),
    exceptions.NotAuthenticated: (401, "unauthorized"),
    exceptions.AuthenticationFailed: (401, "unauthorized"),
    KeyEnded: (401, "unauthorized"),
    AgentMismatch: (403, "agent_mismatch"),
    exceptions.NotFound: (404, "not_found"),
    Http404: (404, "not_found"),
    exceptions.MethodNotAllowed: (405, "method_not_allowed"),
    BodyTooLarge: (413, "body_too_large"),
    IdempotencyConflict: (422, "idempotency_conflict"),
    AgentPaused: (429, "paused"),
    TooMany: (429, "rate_limited"),
    QuotaSpent: (429, "rate_limited"),
    Unreadable: (503, "unreadable"),
}
MESSAGES = {
    "unauthorized": (
        "A valid key is needed: send it as 'Authorization: Bearer wk_live_...'. "
        "If yours stopped working, ask the person who issued it for a new one."
    ),
    "agent_mismatch": (
        "This key belongs to another agent than agent_id says. Nothing was stored. Deliver under "
        "the id that the key was issued for, or ask for that id to be granted to this agent."
    ),
    "not_found": "There is nothing here for this key.",
    "method_not_allowed": "This method is not for this path; see GET /wake/v1/openapi.json.",
    "body_too_large": (
        "The body is larger than this server takes. Nothing was stored. "
        "Put a link into details instead."
    ),
    "paused": (
        "A person has paused this agent's deliveries. Nothing was stored; "
        "answers can still be read."
    ),
    "rate_limited": (
        "Too many requests for now. Nothing was stored. Wait as many seconds as Retry-After says."
    ),
    "own_limit": (
        "Too many requests for now: this agent has a limit of its own, {limit} an hour for each of "
        "its keys. Nothing was stored. Wait as many seconds as Retry-After says; an owner of the "
        "agent's team can change the limit on its page."
    ),
    "unavailable": "The database cannot be reached for the moment. Nothing was stored; try again.",
    "unreadable": (
        "An answer cannot be read: the server lacks the encryption key that it was stored with. "
        "Nothing is lost yet. Tell whoever runs the server, and try again later."
    ),
    "https_required": "Use https: a key that travels over plain http must be taken for stolen.",
    "server_error": (
        "Something on our side failed, and it was noted. Nothing was stored; try again later."
    ),
}


def answer_exception(exception: Exception, context: Mapping[str, Any]) -> HttpResponse | None:
    """DRF's exception handler; None (a 500 by `server_error`) for what nobody expected."""
    status, body = _body(exception)
    if status is None:
        return None
    if isinstance(exception, DATABASE_AWAY):
        logger.warning("The database did not answer: %s", exception)
        connections.forget_dead(exception)
    if isinstance(exception, Unreadable):
        logger.error("Content cannot be read: WAKE_ENCRYPTION_KEYS lacks the key of a row")
    extra: dict[str, Any] = {}
    if status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
        # A polling client indexes these without looking at the status code: it must live through an
        # outage.
        extra = getattr(context["view"], "nothing_yet", dict)()
    return error_response(status, body, extra, headers=_headers(exception))


def error_response(
    status: int,
    body: wire.Error,
    extra: Mapping[str, Any] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    content = wire.encode({"error": body, **(extra or {})})
    response = HttpResponse(
        content, status=status, content_type="application/json", headers=headers
    )
    response["Cache-Control"] = "no-store"
    return response


def rate_headers(allowance: Allowance) -> dict[str, str]:
    """What the key may still do at once, and the Unix time at which its bucket is full again."""
    return {
        "X-RateLimit-Limit": str(allowance.limit),
        "X-RateLimit-Remaining": str(allowance.remaining),
        "X-RateLimit-Reset": str(int(time.time()) + allowance.full_in),
    }


def plain_error(status: int, code: str, message: str | None = None) -> HttpResponse:
    return error_response(status, wire.Error(code, message or MESSAGES[code]))


def https_required() -> HttpResponse:
    return plain_error(403, "https_required")


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Django's handler400: what it found before any view could look (a host that is not ours, a
    cut-off body)."""
    message = "This request cannot be read."
    if request.path_info.startswith(ANSWER_JSON):
        return plain_error(400, "malformed", message)
    return render(request, "problem.html", {"title": message}, status=400)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if request.path_info.startswith(ANSWER_JSON):
        return plain_error(404, "not_found")
    return render(request, "404.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500; 503 where the database cannot be reached or cannot write, with what the
    person had written in a form that sends it again."""
    failure = sys.exc_info()[1]
    away = isinstance(failure, DATABASE_AWAY)
    status, code = (503, "unavailable") if away else (500, "server_error")
    if request.path_info.startswith(ANSWER_JSON):
        response = plain_error(status, code)
    else:
        # No context processors: they would ask the database who is signed in.
        context = {"away": away, "path": request.get_full_path(), "form": _words_in(request)}
        response = render(None, "500.html", context, status=status)
    if away:
        connections.forget_dead(failure)
        response["Retry-After"] = str(RETRY_OUTAGE_AFTER)
    return response


def _words_in(request: HttpRequest) -> list[tuple[str, str]]:
    """Every field of a form in which somebody writes to an agent; of other forms nothing, because
    that might be a password."""
    try:
        form = request.POST
    except (OSError, MultiPartParserError, SuspiciousOperation):  # it cannot be read
        return []
    if form.keys().isdisjoint(WORDS):
        return []
    return [(name, text) for name, texts in form.lists() for text in texts]


def _body(exception: Exception) -> tuple[int | None, wire.Error]:
    if isinstance(exception, exceptions.ValidationError):
        problems = list(_problems(exception.get_full_details()))
        absent = any(problem.code in ABSENT for problem in problems)
        message = " ".join(f"{problem.field}: {problem.message}" for problem in problems)
        return (
            (400, wire.Error("missing_field", message, problems))
            if absent
            else (
                422,
                wire.Error("invalid_field", message, problems),
            )
        )
    if isinstance(exception, Refused):
        problem = wire.Problem("callback_webhook", exception.code, str(exception))
        return 422, wire.Error("invalid_field", f"callback_webhook: {exception}", [problem])
    if isinstance(exception, UnknownRevision):
        problem = wire.Problem("supersedes", "unknown", str(exception))
        return 422, wire.Error("invalid_field", f"supersedes: {exception}", [problem])
    if isinstance(exception, QuotaSpent) and exception.own_limit:
        message = MESSAGES["own_limit"].format(limit=exception.own_limit)
        return 429, wire.Error("rate_limited", message)
    if isinstance(exception, DATABASE_AWAY):
        return 503, wire.Error("unavailable", MESSAGES["unavailable"])
    for fact, (status, code) in FACTS.items():
        if isinstance(exception, fact):
            return status, wire.Error(code, MESSAGES.get(code) or str(exception))
    return None, wire.Error("server_error", MESSAGES["server_error"])


def _problems(details: Any) -> Any:
    for field, found in details.items():
        for problem in found:
            yield wire.Problem(field, problem["code"], str(problem["message"]))


def _headers(exception: Exception) -> dict[str, str]:
    match exception:
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed() | KeyEnded():
            return {"WWW-Authenticate": "Bearer"}
        case QuotaSpent():
            return {
                **rate_headers(exception.allowance),
                "Retry-After": str(exception.allowance.retry_after),
            }
        case TooMany():
            return {"Retry-After": str(exception.retry_after)}
        case Unreadable():
            return {"Retry-After": str(RETRY_UNREADABLE_AFTER)}
        case AgentPaused():
            return {"Retry-After": str(RETRY_PAUSED_AFTER)}
        case _ if isinstance(exception, DATABASE_AWAY):
            return {"Retry-After": str(RETRY_OUTAGE_AFTER)}
    return {}
