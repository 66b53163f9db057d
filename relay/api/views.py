"""Where agents are called over A2A: one address for both versions, and for the pushes of others."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from accounts import throttles
from relay import callers, chaining, errors, jsonrpc, methods, pages_public
from relay.fields import Fields, InvalidParams
from relay.models import CallerKey, Card
from relay.wire import ContentTypeNotSupported, Json, Version
from wake.deliveries import Idempotency
from wake.errors import plain_error
from wake.parsers import BodyTooLarge, Malformed, parse_strictly, stream_of
from wake.views import IDEMPOTENCY_KEY_MAX

LONGEST_WAIT_SECONDS = 30
LONG = 65_536  # bytes
WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*(\d{1,6})\b", re.ASCII | re.IGNORECASE)  # RFC 7240, 4.3
VERSION = re.compile(r"(\d{1,3}\.\d{1,3})(?:\.\d{1,6})?", re.ASCII)
VERSIONS: Mapping[str, Version] = {"1.0": "1.0", "0.3": "0.3"}
JSON_TYPE = re.compile(r"application/(?:[\w.-]+\+)?json", re.ASCII | re.IGNORECASE)
CHALLENGE = 'Bearer realm="A2A"'


@csrf_exempt
def agent(request: HttpRequest, handle: str, name: str) -> HttpResponse:
    """People who open the address see a page; everything else is a POST."""
    if request.method in {"GET", "HEAD"} and "text/html" in request.headers.get("Accept", ""):
        return pages_public.show(request, handle, name)
    if request.method != "POST":
        refusal = plain_error(405, "method_not_allowed", "An agent is called with POST.")
        refusal["Allow"] = "GET, HEAD, POST"
        return refusal
    card = Card.objects.at(handle, name).first()
    if card is None:
        raise Http404
    value, size, broken = None, 0, None
    try:
        if _is_long(request):  # whoever may not come in is told so before it is read
            chaining.caller_of(request, card, at=timezone.now())
        try:
            value, size = _json(request)
        except Malformed as failure:
            broken = failure
        if _is_push(value):
            return chaining.accept(request, card, value, size=size)
        caller = callers.authenticate(request, card, at=timezone.now())
        throttles.count_call(request, str(caller.pk) if caller else "")
    except BodyTooLarge:
        return plain_error(413, "body_too_large")
    except throttles.TooMany as failure:
        return errors.refuse(None, failure)
    except callers.UnknownCaller as failure:
        refusal = plain_error(401, "unauthorized", str(failure))
        refusal["WWW-Authenticate"] = CHALLENGE
        return refusal
    except callers.NotLetIn as failure:
        refusal = plain_error(403, "forbidden", str(failure))
        refusal["WWW-Authenticate"] = f'{CHALLENGE}, error="insufficient_scope"'
        return refusal
    if broken:
        return errors.refuse(None, broken)
    return _answer(request, card, caller, value, size=size)


def _answer(
    request: HttpRequest, card: Card, caller: CallerKey | None, value: Any, *, size: int
) -> HttpResponse:
    """Always JSON-RPC, under the id of the request where it has one."""
    id: jsonrpc.Id = None
    try:
        asked = jsonrpc.read(value)
        id = asked.id
        _check_content_type(request)
        version = _version(request, card)
        method = methods.find(asked.method, version)
        call = methods.Call(
            card=card,
            caller=caller,
            version=version,
            params=Fields(asked.params),
            wait_seconds=_wait_seconds(request),
            idempotency=_idempotency(request, asked.params),
            address=throttles.client_address(request),
            network=throttles.client_network(request),
            size=size,
        )
        return errors.respond(jsonrpc.answered(id, method(call)))
    except jsonrpc.InvalidRequest as failure:
        return errors.refuse(failure.id, failure)
    except Exception as failure:  # errors.refuse() notes what nobody expected
        return errors.refuse(id, failure)


def _is_long(request: HttpRequest) -> bool:
    """Or does not say how long it is."""
    length = request.META.get("CONTENT_LENGTH") or ""
    return not length.isdecimal() or int(length) > LONG


def _json(request: HttpRequest) -> tuple[Any, int]:
    """And how many bytes it was. Raises Malformed or BodyTooLarge. Not through `request.body`,
    whose limit is for forms."""
    limit = settings.WAKE_MAX_A2A_BYTES
    try:
        body = stream_of(request).read(limit + 1)
    except UnreadablePostError:
        raise Malformed("The body ended too early.") from None
    if len(body) > limit:
        raise BodyTooLarge(BodyTooLarge.__doc__)
    return parse_strictly(body), len(body)


def _is_push(value: Any) -> TypeGuard[Json]:
    """No request, but the news of a task: a StreamResponse, or in 0.3 a task."""
    if not isinstance(value, dict) or "jsonrpc" in value or "method" in value:
        return False
    return not value.keys().isdisjoint({"kind", *chaining.MEMBERS})


def _check_content_type(request: HttpRequest) -> None:
    kind = request.content_type or ""
    if kind and not JSON_TYPE.fullmatch(kind):
        raise ContentTypeNotSupported(f"Send it as application/json, not as {kind[:80]}.")


def _version(request: HttpRequest, card: Card) -> Version:
    """Nothing said is 0.3, which had no header (1.0, 3.6.2)."""
    text = (request.headers.get("A2A-Version") or request.GET.get("A2A-Version") or "0.3").strip()
    match = VERSION.fullmatch(text)
    version = VERSIONS.get(match[1]) if match else None
    spoken = [one for one in VERSIONS if card.profile in {one, Card.Profile.BOTH}]
    if version not in spoken:
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
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    if not (0 < len(key) <= IDEMPOTENCY_KEY_MAX and key.isascii() and key.isprintable()):
        raise InvalidParams("Idempotency-Key", "Must be 1 to 255 printable ASCII characters.")
    body = json.dumps(params, sort_keys=True)
    return Idempotency(key, hashlib.sha256(body.encode()).hexdigest())
