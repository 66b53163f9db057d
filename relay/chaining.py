"""What an agent does with news of another's task that is pushed to its URL: it goes on from there.

A caller who gives one agent's URL as the push URL of another's task chains the two (the relay's
document, "Push Notifications"): what the first made is what the second is asked.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.utils import timezone

from accounts import throttles
from relay import callers, lifecycle, wire
from relay.fields import Fields, InvalidParams
from relay.models import CallerKey, Card, Task
from relay.pushes import GENERATION, HOP, TOKEN_HEADER
from relay.wire import Incoming, Json

HOPS_AT_MOST = 5
HIGHEST = 2**31 - 1
SOURCE = "wakeSourceTask"

# The members of a StreamResponse (1.0, 4.3.3), and what each says of itself in 0.3.
MEMBERS = {
    "task": "task",
    "message": "message",
    "statusUpdate": "status-update",
    "artifactUpdate": "artifact-update",
}


class TooFar(Exception):
    """This chain has as many links as there may be, or goes around in a circle."""


@dataclass(frozen=True, slots=True)
class News:
    """That a task has completed, with everything that it made: `hop` links from the first."""

    task_id: str
    generation: int
    hop: int
    parts: list[Json]


def accept(request: HttpRequest, card: Card, body: Json) -> JsonResponse:
    """Of a POST that is no JSON-RPC. Whatever does not make this agent act is accepted all the
    same, so that nobody sends it again."""
    try:
        task = _go_on(request, card, body, at=timezone.now())
    except InvalidParams as reason:
        return _refused(400, "invalid_push", str(reason))
    except callers.UnknownCaller as reason:
        answer = _refused(401, "unauthorized", str(reason))
        answer["WWW-Authenticate"] = "Bearer"
        return answer
    except callers.NotLetIn as reason:
        return _refused(403, "forbidden", str(reason))
    except wire.ContentTypeNotSupported as reason:
        return _refused(415, "content_type_not_supported", str(reason))
    except TooFar as reason:
        return _refused(422, "too_far", str(reason))
    except throttles.TooMany as reason:
        return _refused(429, "rate_limited", str(reason), retry_after=reason.retry_after)
    except lifecycle.AgentBusy as reason:
        return _refused(503, "busy", str(reason), retry_after=reason.retry_after)
    return JsonResponse({"taskId": str(task.pk)} if task else {})


def read(body: Json) -> News | None:
    """None unless it says that a task has completed and what came of it, in the words of either
    version. Raises InvalidParams for what is no push at all."""
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
    metadata = Fields(told.object("metadata"), told.path_of("metadata"))
    return News(
        task_id=told.needed_id("id" if name == "task" else "taskId"),
        generation=metadata.number(GENERATION, low=0, high=HIGHEST) or 0,
        hop=metadata.number(HOP, low=0, high=HIGHEST) or 0,
        parts=parts,
    )


def _go_on(request: HttpRequest, card: Card, body: Json, *, at: datetime) -> Task | None:
    caller = _caller(request, card, at=at)
    throttles.count_call(request, str(caller.pk) if caller else "")
    news = read(body)
    if news is None:
        return None
    hop = news.hop + 1
    if hop > HOPS_AT_MOST:
        raise TooFar(TooFar.__doc__)
    if not card.takes(wire.media_types(news.parts)):
        raise wire.ContentTypeNotSupported(wire.ContentTypeNotSupported.__doc__)
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
        hop=hop,
        source=(news.task_id, news.generation),
        at=at,
    )


def _caller(request: HttpRequest, card: Card, *, at: datetime) -> CallerKey | None:
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


def _member(body: Json) -> tuple[Fields, str]:
    """What it tells of, and its name in 1.0."""
    outer = Fields(body)
    there = [name for name in MEMBERS if outer.get(name) is not None]
    if "kind" not in body and len(there) == 1:
        return outer.inner(there[0]), there[0]
    kind = body.get("kind", "task")
    for name, older in MEMBERS.items():
        if kind == older and (outer.has("status") or name not in {"task", "statusUpdate"}):
            return outer, name
    raise InvalidParams("", "Neither a JSON-RPC request nor news of a task.")


def _parts(holder: Fields) -> list[Json]:
    return wire.read_parts(holder.get("parts"), holder.path_of("parts"))


def _refused(
    status: int, code: str, message: str, *, retry_after: int | None = None
) -> JsonResponse:
    answer: dict[str, Any] = {"error": {"code": code, "message": message}}
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return JsonResponse(answer, status=status, headers=headers)
