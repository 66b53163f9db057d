"""Starts a task of one agent when another agent's task has completed. A caller chains two agents:
the push URL of the first agent's task is the URL of the second agent (docs/a2a.md, Chain agents).
The result of the first agent is then the request to the second.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse

from accounts.agents.limits import count_bad_key
from accounts.limits import read_limits, throttles
from database.clock import database_now
from relay.api import errors
from relay.api.limits import count_bytes
from relay.cards import callers
from relay.models import CallerKey, Card, Task
from relay.protocol import dialects, jsonrpc
from relay.protocol.dialects import Incoming, Json
from relay.protocol.fields import Fields, InvalidParams
from relay.protocol.parts import MAX_PARTS, media_types, read_parts
from relay.protocol.stream_events import GENERATION
from relay.tasks import sending
from relay.tasks.pushes import HOP, TOKEN_HEADER
from wake.api import log_context
from wake.api.errors import plain_error

MAX_HOPS = 5
HIGHEST = 2**31 - 1
SOURCE = "wakeSourceTask"
CHALLENGE = 'Bearer realm="A2A"'

# The members of a StreamResponse (1.0, 4.3.3), and the `kind` of each in 0.3.
MEMBERS = {
    "task": "task",
    "message": "message",
    "statusUpdate": "status-update",
    "artifactUpdate": "artifact-update",
}


class NoNews(Exception):
    """This is not a push of either version."""


class TooFar(Exception):
    """This chain has as many links as there may be, or goes around in a circle."""


# A push is not JSON-RPC, so its sender reads the status code.
REFUSALS: dict[type[Exception], tuple[int, str]] = {
    InvalidParams: (HTTPStatus.BAD_REQUEST, "invalid_push"),
    callers.UnknownCaller: (HTTPStatus.UNAUTHORIZED, "unauthorized"),
    callers.CallerNotAllowed: (HTTPStatus.FORBIDDEN, "forbidden"),
    dialects.ContentTypeNotSupported: (
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        "content_type_not_supported",
    ),
    TooFar: (HTTPStatus.UNPROCESSABLE_ENTITY, "too_far"),
    throttles.TooManyRequests: (HTTPStatus.TOO_MANY_REQUESTS, "rate_limited"),
    sending.AgentBusy: (HTTPStatus.SERVICE_UNAVAILABLE, "busy"),
}


@dataclass(frozen=True, slots=True)
class News:
    """Holds a completed task and all of its artifacts. `hop` is the number of links from the first
    task of the chain."""

    task_id: str
    generation: int
    hop: int
    parts: list[Json]


def accept(request: HttpRequest, card: Card, body: Json, *, size: int) -> HttpResponse:
    """Answers a POST that is not JSON-RPC. A push that starts nothing is accepted as well, so that
    the sender does not repeat it. `size` is the number of bytes that the limits have not counted
    yet."""
    try:
        task = _go_on(request, card, body, size=size, at=database_now())
    except NoNews:
        return errors.refuse(None, jsonrpc.InvalidRequest('The member "jsonrpc" must be "2.0".'))
    except tuple(REFUSALS) as reason:
        return _refuse(reason)
    return JsonResponse({"taskId": str(task.pk)} if task else {})


def read(body: Json) -> News | None:
    """Reads a push of either version. Returns None unless the push says that a task has completed
    with a result. Raises NoNews, and InvalidParams for a malformed member."""
    member, name = _member(body)
    if name not in {"task", "statusUpdate"}:
        return None
    status = member.inner("status")
    if dialects.read_state(status.text("state")) != Task.State.COMPLETED:
        return None
    parts = [
        part
        for number, artifact in enumerate(member.items("artifacts"))
        for part in _parts(Fields(artifact, member.path_of(f"artifacts[{number}]")))
    ]
    if not parts and status.get("message") is not None:
        parts = _parts(status.inner("message"))
    if not parts:
        return None
    if len(parts) > MAX_PARTS:
        text = f"Must have at most {MAX_PARTS} parts, all of them together."
        raise member.wrong("artifacts", text)
    metadata = Fields(member.object("metadata"), member.path_of("metadata"))
    return News(
        task_id=member.needed_id("id" if name == "task" else "taskId"),
        generation=metadata.number(GENERATION, low=0, high=HIGHEST) or 0,
        hop=metadata.number(HOP, low=0, high=HIGHEST) or 0,
        parts=parts,
    )


def caller_of(request: HttpRequest, card: Card, *, at: datetime) -> CallerKey | None:
    """Returns the caller key of a push, from its credentials or its token. Other credentials may be
    for another server, so a public agent ignores these credentials and takes the push as an
    anonymous caller's. Raises UnknownCaller, CallerNotAllowed and throttles.TooManyRequests."""
    _, _, credentials = request.headers.get("Authorization", "").partition(" ")
    for text in (credentials, request.headers.get(TOKEN_HEADER, "")):
        if key := callers.find(text.strip(), at=at):
            if not card.accepts(key):
                raise callers.CallerNotAllowed(callers.CallerNotAllowed.__doc__)
            callers.touch(key, at=at)
            return key
    if not card.accepts(None):
        count_bad_key(request)
        raise callers.UnknownCaller(callers.UnknownCaller.__doc__)
    return None


def _go_on(request: HttpRequest, card: Card, body: Json, *, size: int, at: datetime) -> Task | None:
    caller = caller_of(request, card, at=at)
    read_limits.count_call(request, caller.pk if caller else None)
    news = read(body)
    if news is None:
        return None
    hop = news.hop + 1
    if hop > MAX_HOPS:
        raise TooFar(TooFar.__doc__)
    if not card.takes(media_types(news.parts)):
        raise dialects.ContentTypeNotSupported(dialects.ContentTypeNotSupported.__doc__)
    network = throttles.client_network(request)
    if caller is None:
        count_bytes(network, size)
    incoming = Incoming(
        message_id=str(uuid.uuid4()),
        parts=news.parts,
        metadata={SOURCE: news.task_id, HOP: hop},
        reference_task_ids=[news.task_id],
    )
    return sending.send(
        card,
        caller,
        incoming,
        address=throttles.client_address(request),
        network=network,
        traceparent=log_context.current().traceparent,
        hop=hop,
        source=(news.task_id, news.generation),
        at=at,
    )


def _member(body: Json) -> tuple[Fields, str]:
    """Returns the member that the push carries, and its name in 1.0."""
    outer = Fields(body)
    there = [name for name in MEMBERS if outer.get(name) is not None]
    if len(there) == 1 and "kind" not in body:
        return outer.inner(there[0]), there[0]
    for name, kind in MEMBERS.items():
        if body.get("kind") == kind:
            return outer, name
    raise NoNews(NoNews.__doc__)


def _parts(holder: Fields) -> list[Json]:
    return read_parts(holder.get("parts"), holder.path_of("parts"))


def _refuse(reason: Exception) -> HttpResponse:
    status, code = REFUSALS[type(reason)]
    refusal = plain_error(status, code, str(reason))
    if isinstance(reason, callers.UnknownCaller):
        refusal["WWW-Authenticate"] = CHALLENGE
    if isinstance(reason, (throttles.TooManyRequests, sending.AgentBusy)):
        refusal["Retry-After"] = str(reason.retry_after)
    return refusal
