"""What an agent does with news of another's task that is pushed to its URL: it goes on from there.

A caller who gives one agent's URL as the push URL of another's task chains the two (the relay's
document, "Push Notifications"): what the first made is what the second is asked.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from accounts import throttles
from relay import callers, errors, jsonrpc, lifecycle, wire
from relay.fields import Fields, InvalidParams
from relay.models import CallerKey, Card, Task
from relay.pushes import GENERATION, HOP, TOKEN_HEADER
from relay.wire import Incoming, Json
from wake.errors import plain_error

HOPS_AT_MOST = 5
HIGHEST = 2**31 - 1
SOURCE = "wakeSourceTask"
CHALLENGE = 'Bearer realm="A2A"'

# The members of a StreamResponse (1.0, 4.3.3), and what each says of itself in 0.3.
MEMBERS = {
    "task": "task",
    "message": "message",
    "statusUpdate": "status-update",
    "artifactUpdate": "artifact-update",
}


class NoNews(Exception):
    """This is no news of a task in either version's words."""


class TooFar(Exception):
    """This chain has as many links as there may be, or goes around in a circle."""


@dataclass(frozen=True, slots=True)
class News:
    """That a task has completed, with everything that it made: `hop` links from the first."""

    task_id: str
    generation: int
    hop: int
    parts: list[Json]


def accept(request: HttpRequest, card: Card, body: Json, *, size: int) -> HttpResponse:
    """Of a POST of `size` bytes that does not mean to be JSON-RPC. Whatever does not make this
    agent act is accepted all the same, so that nobody sends it again."""
    try:
        task = _go_on(request, card, body, size=size, at=timezone.now())
    except NoNews:
        return errors.refuse(None, jsonrpc.InvalidRequest('The member "jsonrpc" must be "2.0".'))
    except InvalidParams as reason:
        return plain_error(400, "invalid_push", str(reason))
    except callers.UnknownCaller as reason:
        refusal = plain_error(401, "unauthorized", str(reason))
        refusal["WWW-Authenticate"] = CHALLENGE
        return refusal
    except callers.NotLetIn as reason:
        return plain_error(403, "forbidden", str(reason))
    except wire.ContentTypeNotSupported as reason:
        return plain_error(415, "content_type_not_supported", str(reason))
    except TooFar as reason:
        return plain_error(422, "too_far", str(reason))
    except throttles.TooMany as reason:
        return _later(429, "rate_limited", reason)
    except lifecycle.AgentBusy as reason:
        return _later(503, "busy", reason)
    return JsonResponse({"taskId": str(task.pk)} if task else {})


def read(body: Json) -> News | None:
    """None unless it says that a task has completed and what came of it, in the words of either
    version. Raises NoNews, and InvalidParams where a member is not what it should be."""
    told, name = _member(body)
    if name not in {"task", "statusUpdate"}:
        return None
    status = told.inner("status")
    if wire.read_state(status.text("state")) != Task.State.COMPLETED:
        return None
    parts = [
        part
        for number, artifact in enumerate(told.items("artifacts"))
        for part in _parts(Fields(artifact, told.path_of(f"artifacts[{number}]")))
    ]
    if not parts and status.get("message") is not None:
        parts = _parts(status.inner("message"))
    if not parts:
        return None
    if len(parts) > wire.PARTS_AT_MOST:
        text = f"Must have at most {wire.PARTS_AT_MOST} parts, all of them together."
        raise told.wrong("artifacts", text)
    metadata = Fields(told.object("metadata"), told.path_of("metadata"))
    return News(
        task_id=told.needed_id("id" if name == "task" else "taskId"),
        generation=metadata.number(GENERATION, low=0, high=HIGHEST) or 0,
        hop=metadata.number(HOP, low=0, high=HIGHEST) or 0,
        parts=parts,
    )


def caller_of(request: HttpRequest, card: Card, *, at: datetime) -> CallerKey | None:
    """A push carries what its config says, as credentials or as a token: either may be a caller
    key. What is none may mean something to others, so a public agent takes it from nobody in
    particular. Raises UnknownCaller, NotLetIn and throttles.TooMany."""
    _, _, credentials = request.headers.get("Authorization", "").partition(" ")
    for text in (credentials, request.headers.get(TOKEN_HEADER, "")):
        if key := callers.find(text.strip(), at=at):
            if not card.lets_in(key):
                raise callers.NotLetIn(callers.NotLetIn.__doc__)
            callers.touch(key, at=at)
            return key
    if not card.lets_in(None):
        throttles.count_bad_key(request)
        raise callers.UnknownCaller(callers.UnknownCaller.__doc__)
    return None


def _go_on(request: HttpRequest, card: Card, body: Json, *, size: int, at: datetime) -> Task | None:
    caller = caller_of(request, card, at=at)
    throttles.count_call(request, str(caller.pk) if caller else "")
    news = read(body)
    if news is None:
        return None
    hop = news.hop + 1
    if hop > HOPS_AT_MOST:
        raise TooFar(TooFar.__doc__)
    if not card.takes(wire.media_types(news.parts)):
        raise wire.ContentTypeNotSupported(wire.ContentTypeNotSupported.__doc__)
    network = throttles.client_network(request)
    if caller is None:
        throttles.count_bytes(network, size)
    incoming = Incoming(
        message_id=str(uuid.uuid4()),
        parts=news.parts,
        metadata={SOURCE: news.task_id, HOP: hop},
        reference_task_ids=[news.task_id],
    )
    return lifecycle.send(
        card,
        caller,
        incoming,
        address=throttles.client_address(request),
        network=network,
        hop=hop,
        source=(news.task_id, news.generation),
        at=at,
    )


def _member(body: Json) -> tuple[Fields, str]:
    """What it tells of, and its name in 1.0."""
    outer = Fields(body)
    there = [name for name in MEMBERS if outer.get(name) is not None]
    if len(there) == 1 and "kind" not in body:
        return outer.inner(there[0]), there[0]
    for name, kind in MEMBERS.items():
        if body.get("kind") == kind:
            return outer, name
    raise NoNews(NoNews.__doc__)


def _parts(holder: Fields) -> list[Json]:
    return wire.read_parts(holder.get("parts"), holder.path_of("parts"))


def _later(status: int, code: str, reason: throttles.TooMany | lifecycle.AgentBusy) -> HttpResponse:
    refusal = plain_error(status, code, str(reason))
    refusal["Retry-After"] = str(reason.retry_after)
    return refusal
