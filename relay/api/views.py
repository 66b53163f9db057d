"""Serves A2A calls of agents in both versions at one address, and the pushes of other agents."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeGuard

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.views.decorators.csrf import csrf_exempt

from accounts.access.moves import TeamMoved, TeamMoving, refuse_moved_handle
from accounts.limits import read_limits, throttles
from database import outages
from database.clock import database_now
from database.idempotency import BadIdempotencyKey, Idempotency
from relay.api import calls, errors, incoming_pushes, methods
from relay.api.calls import AgentCall
from relay.api.limits import count_bytes
from relay.api.methods import Method
from relay.cards import caller_cache, callers, cards
from relay.models import CallerKey, Card
from relay.pages import public as public_pages
from relay.protocol import cross_origin, jsonrpc, versions
from relay.protocol.dialects import ContentTypeNotSupported, Json
from relay.protocol.fields import Fields, InvalidParams
from relay.protocol.versions import Version
from relay.streams.stream import TaskStream
from wake.api import event_streams
from wake.api.errors import plain_error
from wake.api.long_poll import arrived_at
from wake.api.parsers import BodyTooLarge, Malformed, declared_length, parse_strictly, stream_of

LONGEST_WAIT_SECONDS = 30
LONG = 65_536  # bytes of a body
WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*(\d{1,6})\b", re.ASCII | re.IGNORECASE)  # RFC 7240, 4.3
JSON_TYPE = re.compile(r"application/(?:[\w.-]+\+)?json", re.ASCII | re.IGNORECASE)
CHALLENGE = 'Bearer realm="A2A"'
OLDEST: Version = "0.3"
OLDER_STREAMS = ["message/stream", "tasks/resubscribe"]  # a list, as a method may be any JSON


@csrf_exempt
def agent(request: HttpRequest, handle: str, name: str) -> HttpResponse:
    """Shows a page to people who open the address, and answers CORS preflights of browsers. Every
    other request is a POST."""
    if request.method in {"GET", "HEAD"} and "text/html" in request.headers.get("Accept", ""):
        return public_pages.public_page(request, handle, name)
    if request.method != "POST" and not cross_origin.is_preflight(request):
        refusal = plain_error(405, "method_not_allowed", "An agent is called with POST.")
        refusal["Allow"] = "GET, HEAD, OPTIONS, POST"
        return refusal
    return cross_origin.let_calling_page_read(_call(request, handle, name), request)


def _call(request: HttpRequest, handle: str, name: str) -> HttpResponse:
    if _is_from_a_foreign_page(request):
        return plain_error(403, "forbidden", "Pages of other origins may not call this server.")
    is_preflight, is_long = cross_origin.is_preflight(request), _is_long(request)
    value, size = None, 0
    try:
        if not (is_preflight or is_long):
            value, size = _read(request)
            if answer := _send_from_cache(request, handle, name, value, size=size):
                return answer
        card = cards.published_at(handle, name)
        if card is None:
            refuse_moved_handle(handle)
            raise Http404
        if is_preflight:
            return cross_origin.answer_preflight(request)
        if is_long:  # a caller without access is refused before the body is read
            is_anonymous = incoming_pushes.caller_of(request, card, at=database_now()) is None
            value, size = _read(request, count=is_anonymous)
        if _is_push(value):
            return incoming_pushes.accept(request, card, value, size=size)
        caller = callers.authenticate(request, card, at=database_now())
        read_limits.count_call(request, caller.pk if caller else None)
    except BodyTooLarge:
        return plain_error(413, "body_too_large")
    except (throttles.TooManyRequests, TeamMoving, TeamMoved) as failure:
        return errors.refuse(None, failure)
    except callers.UnknownCaller as failure:
        refusal = plain_error(401, "unauthorized", str(failure))
        refusal["WWW-Authenticate"] = CHALLENGE
        return refusal
    except callers.CallerNotAllowed as failure:
        refusal = plain_error(403, "forbidden", str(failure))
        refusal["WWW-Authenticate"] = f'{CHALLENGE}, error="insufficient_scope"'
        return refusal
    if caller:
        caller_cache.store(handle, name, card, caller)
    return _answer(request, card, caller, value, size=size)


def _send_from_cache(
    request: HttpRequest, handle: str, name: str, value: Any, *, size: int
) -> HttpResponse | None:
    """Sends a message with the card and the caller that this process remembers. Returns None if
    this process remembers no card and caller for this address and key, or if sending fails. In both
    cases nothing is stored, and the caller of this function reads card and caller again. Raises
    throttles.TooManyRequests."""
    entry = caller_cache.lookup(request, handle, name)
    if entry is None:
        return None
    try:
        method, call = _asked(request, entry.card, entry.caller, value, size=size, is_cached=True)
        if method is not methods.send:
            return None
        read_limits.count_call(request, entry.caller.pk)
        task, configuration = calls.accept_message(call)
    except Exception as reason:
        if isinstance(reason, throttles.TooManyRequests) or outages.will_pass(reason):
            raise
        return None
    callers.touch(entry.caller, at=task.created_at)
    return _respond(request, call, lambda: methods.answer_send(call, task, configuration))


def _answer(
    request: HttpRequest, card: Card, caller: CallerKey | None, value: Any, *, size: int
) -> HttpResponse:
    """Answers in JSON-RPC, with the request's id if it has one. `value` is the JSON of the body, or
    the reason why the body is not JSON."""
    as_event = False
    try:
        as_event = _reads_only_events(request, value)
        method, call = _asked(request, card, caller, value, size=size)
    except Exception as failure:  # errors.refuse() logs unexpected errors
        return errors.refuse(jsonrpc.id_of(value), failure, as_event=as_event)
    return _respond(request, call, partial(method, call), as_event=as_event)


def _asked(
    request: HttpRequest,
    card: Card,
    caller: CallerKey | None,
    value: Any,
    *,
    size: int,
    is_cached: bool = False,
) -> tuple[Method, AgentCall]:
    """Returns the requested method, and the call to pass to it. Raises the exceptions that
    errors.refuse() answers."""
    id = jsonrpc.id_of(value)
    if request.content_type or not isinstance(value, Malformed):
        _check_content_type(request)
    if isinstance(value, Malformed):
        raise value
    asked = jsonrpc.read(value)
    version = _version(request, card)
    return methods.find(asked.method, version), AgentCall(
        card=card,
        caller=caller,
        version=version,
        params=Fields(asked.params),
        id=id,
        check_streaming=partial(event_streams.check, request),
        write_error=partial(errors.body_of, id),
        wait_until=arrived_at(request) + _wait_seconds(request),
        idempotency=_idempotency(request, asked.params),
        last_event_id=request.headers.get("Last-Event-ID", ""),
        address=throttles.client_address(request),
        network=throttles.client_network(request),
        size=size,
        is_cached=is_cached,
    )


def _reads_only_events(request: HttpRequest, value: Any) -> bool:
    """Returns whether the request calls a method of 0.3 that streams. The SDKs of 0.3 expect events
    then, and would not read an error that comes as JSON."""
    is_older = versions.read(versions.asked_for(request) or OLDEST) == OLDEST
    return is_older and isinstance(value, dict) and value.get("method") in OLDER_STREAMS


def _respond(
    request: HttpRequest, call: AgentCall, run: Callable[[], Any], *, as_event: bool = False
) -> HttpResponse:
    """Answers with the result of `run`, or with the error that it raises."""
    try:
        result = run()
        if isinstance(result, TaskStream):
            return event_streams.hand_over(request, result)
        return errors.respond(jsonrpc.answered(call.id, result))
    except Exception as failure:  # errors.refuse() logs unexpected errors
        return errors.refuse(call.id, failure, as_event=as_event)


def _is_from_a_foreign_page(request: HttpRequest) -> bool:
    """Returns whether a page of another site sent the request to a server in development. Such a
    server runs on a person's own machine, and any open page can send to it."""
    origin = request.headers.get("Origin") if settings.DEVELOPMENT else None
    if origin is None:
        return False
    return origin not in {settings.WAKE_ORIGIN, f"{request.scheme}://{request.get_host()}"}


def _is_long(request: HttpRequest) -> bool:
    """Returns whether the body is long, or has no declared length."""
    length = request.META.get("CONTENT_LENGTH") or ""
    return not length or declared_length(length) > LONG


def _read(request: HttpRequest, *, count: bool = False) -> tuple[Any, int]:
    """Returns the JSON of the body, or the reason why it is not JSON. Also returns the size of the
    body in bytes, if it must still be counted. Raises BodyTooLarge or throttles.TooManyRequests.
    Does not read `request.body`, whose limit is for forms. `count` is for long bodies without a
    key: parsing such a body takes seconds, so its bytes are counted first."""
    limit = settings.WAKE_MAX_A2A_BYTES
    try:
        body = stream_of(request).read(limit + 1)
    except UnreadablePostError:
        return Malformed("The body ended too early."), 0
    if len(body) > limit:
        raise BodyTooLarge(BodyTooLarge.__doc__)
    if count:
        count_bytes(throttles.client_network(request), len(body))
    try:
        return parse_strictly(body), 0 if count else len(body)
    except Malformed as reason:
        return reason, 0


def _is_push(value: Any) -> TypeGuard[Json]:
    """Returns whether this is a push and not a request: a StreamResponse, or in 0.3 a task."""
    if not isinstance(value, dict) or "jsonrpc" in value or "method" in value:
        return False
    return not value.keys().isdisjoint({"kind", *incoming_pushes.MEMBERS})


def _check_content_type(request: HttpRequest) -> None:
    """Raises ContentTypeNotSupported for all types but JSON. A page of another site can send other
    types, or none, without asking this server first (CORS)."""
    kind = request.content_type or ""
    if not JSON_TYPE.fullmatch(kind):
        raise ContentTypeNotSupported(
            f"Send it as application/json, not {f'as {kind[:80]}' if kind else 'without a type'}."
        )


def _version(request: HttpRequest, card: Card) -> Version:
    """Returns the version of A2A. A request without the header is 0.3, which had no such header
    (1.0, 3.6.2)."""
    text = versions.asked_for(request) or OLDEST
    version, spoken = versions.read(text), cards.versions_of(card)
    if version is None or version not in spoken:
        raise methods.VersionNotSupported(
            f"This agent speaks A2A {' and '.join(spoken)}, not {text[:20]!r}; "
            f"the header 'A2A-Version: {spoken[0]}' says which."
        )
    return version


def _wait_seconds(request: HttpRequest) -> float:
    preferred = WAIT.search(request.headers.get("Prefer", ""))
    if preferred:
        return min(int(preferred[1]), LONGEST_WAIT_SECONDS)
    return float(settings.WAKE_A2A_WAIT_SECONDS)


def _idempotency(request: HttpRequest, params: Any) -> Idempotency | None:
    try:
        return Idempotency.of(request.headers.get("Idempotency-Key"), params)
    except BadIdempotencyKey as reason:
        raise InvalidParams("Idempotency-Key", str(reason)) from None
