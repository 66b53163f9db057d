"""The endpoints of WAKE v1: find, check the shape, call one verb, answer."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable
from typing import Any, cast

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts import keys, quota, throttles
from accounts.authentication import key_of
from accounts.models import ApiKey
from wake import documents, errors, pickups, wire
from wake.deliveries import Idempotency, deliver
from wake.parsers import JsonObject, stream_of
from wake.serializers import DELIVERY_PAYLOAD, sweep_query, wait_seconds
from wake.waiting import Found, patiently

IDEMPOTENCY_KEY_MAX = 255


class ProtocolView(APIView):
    """HEAD is no method here: it would stamp an answer as picked up and not carry it."""

    http_method_names = ["get", "post"]

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        """Reads a chunked body too: it has no length, and DRF would take it for an empty one."""
        found = super().initialize_request(request, *args, **kwargs)
        if "HTTP_TRANSFER_ENCODING" in request.META:
            found._stream = stream_of(request)
        return found


class DeliverView(ProtocolView):
    @extend_schema(**documents.DELIVER)
    def post(self, request: Request) -> HttpResponse:
        key, address = key_of(request), throttles.client_address(request)
        try:
            delivered = deliver(
                key.agent,
                key=key,
                idempotency=_idempotency(request),
                address=address,
                **DELIVERY_PAYLOAD.for_the_verb(cast(JsonObject, request.data)),
            )
        except quota.QuotaSpent:  # its transaction is undone, and with it what it wrote
            quota.note_refused(key, address=address, at=timezone.now())
            raise
        receipt = wire.Receipt(delivered.delivery.pk, "received", delivered.delivery.created_at)
        response = _json(receipt, status=201)
        if delivered.replayed:
            response["Idempotency-Replayed"] = "true"
        if delivered.allowance:
            for name, value in errors.rate_headers(delivered.allowance).items():
                response[name] = value
        return response


class ResponseView(ProtocolView):
    @extend_schema(**documents.RESPONSE)
    def get(self, request: Request, delivery_id: str) -> HttpResponse:
        key = key_of(request)
        throttles.count_read(request, key)
        seconds = wait_seconds(request.GET)
        pk = _uuid(delivery_id)
        answer = _for_key(
            key,
            lambda: pickups.read(key, pk, at=timezone.now()),
            seconds=seconds,
            until=lambda answer: answer is None or answer.status != "pending",
        )
        if answer is None:
            raise Http404
        return _json(answer)

    def nothing_yet(self) -> dict[str, Any]:
        return {"delivery_id": self.kwargs["delivery_id"], "status": "pending"}


class ResponsesView(ProtocolView):
    @extend_schema(**documents.RESPONSES)
    def get(self, request: Request) -> HttpResponse:
        key = key_of(request)
        throttles.count_read(request, key)
        seconds, query = wait_seconds(request.GET), sweep_query(request.GET)
        return _json(
            _for_key(
                key,
                lambda: pickups.sweep(key, query, at=timezone.now()),
                seconds=seconds,
                until=lambda sweep: bool(sweep.deliveries),
            )
        )

    def nothing_yet(self) -> dict[str, Any]:
        since = self.request.GET.get("since")
        return {"deliveries": [], "total": 0, "has_more": False, "next_since": since}


class PublicView(ProtocolView):
    """What a client may read before it has a key."""

    authentication_classes = ()
    permission_classes = ()


class CapabilitiesView(PublicView):
    @extend_schema(**documents.CAPABILITIES)
    def get(self, request: Request) -> HttpResponse:
        return _json(documents.capabilities())


class OpenApiView(PublicView):
    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return _json(documents.openapi())


class JsonSchemaView(PublicView):
    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return _json(documents.json_schema())


@csrf_exempt
def nothing_here(request: HttpRequest) -> HttpResponse:
    """Every other path under /wake/: JSON, and a hint for the commonest slip of all."""
    if request.path_info.startswith("/wake/v1/wake/"):
        return errors.plain_error(
            404,
            "not_found",
            "The path has /wake/v1 twice: WAKE_ENDPOINT probably ends in /wake/v1 already, and "
            f"your client adds it again: set WAKE_ENDPOINT to {settings.WAKE_ORIGIN}.",
        )
    return errors.plain_error(404, "not_found")


def _for_key(
    key: ApiKey, look: Callable[[], Found], *, seconds: int, until: Callable[[Found], bool]
) -> Found:
    """A key that was revoked during a long poll gets nothing at the end of it, either."""
    found = patiently(look, seconds=seconds, until=until)
    if seconds:
        keys.check_again(key, at=timezone.now())
    return found


def _json(value: Any, *, status: int = 200) -> HttpResponse:
    response = HttpResponse(wire.encode(value), status=status, content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response


def _uuid(text: str) -> uuid.UUID:
    """Any case is accepted; what is no UUID becomes the nil one, which costs the same query and
    finds nothing."""
    try:
        found = uuid.UUID(text)
    except ValueError:
        return uuid.UUID(int=0)
    return found if str(found) == text.lower() else uuid.UUID(int=0)


def _idempotency(request: Request) -> Idempotency | None:
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    if not (0 < len(key) <= IDEMPOTENCY_KEY_MAX and key.isascii() and key.isprintable()):
        raise ValidationError({"Idempotency-Key": ["Must be 1 to 255 printable ASCII characters."]})
    body = json.dumps(request.data, sort_keys=True)
    return Idempotency(key, hashlib.sha256(body.encode()).hexdigest())
