"""Serves the endpoints of WAKE v1. Each view finds the object, checks the input, calls one verb and
answers."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts.agents import keys
from accounts.limits import read_limits, throttles
from database.clock import database_now
from database.idempotency import BadIdempotencyKey, Idempotency
from database.uuids import NIL, uuid_or_none
from wake import pickups, wire
from wake.api import errors, log_context, openapi
from wake.api.authentication import bearer_of, key_of, remembered_key
from wake.api.long_poll import long_poll
from wake.api.parsers import read_object, stream_of
from wake.api.serializers import (
    DELIVERY_PAYLOAD,
    WITHDRAWAL_PAYLOAD,
    sweep_parameters,
    wait_seconds,
)
from wake.blobs import references
from wake.deliveries import Delivered, deliver
from wake.withdrawals import withdraw_own


class ProtocolView(APIView):
    """Accepts only GET and POST, because HEAD would mark an answer as picked up without returning
    it."""

    http_method_names = ["get", "post"]

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        """Also reads chunked bodies, which have no length, so that DRF takes them for empty."""
        drf_request = super().initialize_request(request, *args, **kwargs)
        if "HTTP_TRANSFER_ENCODING" in request.META:
            drf_request._stream = stream_of(request)
        return drf_request

    def get_exception_handler(self) -> Callable[..., HttpResponse | None]:
        return partial(
            errors.answer_exception,
            nothing_yet=self.nothing_yet(),
            key_text=bearer_of(self.request),
        )

    def nothing_yet(self) -> dict[str, Any]:
        """Returns the members that a 429 or 503 has besides its error."""
        return {}


class HotView(ProtocolView):
    """Serves the endpoints that agents call all day. A hot view gets Django's request directly. DRF
    would prepare a choice of parsers, renderers, permissions and throttles that this API does not
    have. Errors and the description are the same as for every other view
    (docs/decisions/0028-hot-views-skip-what-drf-prepares.md)."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        method = (request.method or "").lower()
        name = method if method in self.http_method_names else "http_method_not_allowed"
        handler: Callable[..., HttpResponse] = getattr(self, name, self.http_method_not_allowed)
        try:
            return handler(request, *args, **kwargs)
        except Exception as exception:
            response = self.get_exception_handler()(exception, {})
            if response is None:
                raise
            response["Allow"] = ", ".join(self.allowed_methods)
            return response


class DeliverView(HotView):
    @extend_schema(**openapi.DELIVER)
    def post(self, request: HttpRequest) -> HttpResponse:
        key = remembered_key(request)
        try:
            body = read_object(request)
            idempotency, fields = idempotency_of(request, body), DELIVERY_PAYLOAD.read(body)
        except Exception:
            # Raises the error of an ended key, which then hides all other errors.
            keys.check_again(key, at=database_now())
            raise
        facts = log_context.current()
        delivered = deliver(
            key.agent,
            key=key,
            idempotency=idempotency,
            address=throttles.client_address(request),
            traceparent=facts.traceparent,
            at=database_now(),
            **fields,
        )
        receipt = receipt_of(delivered)
        facts.delivery_id = receipt.delivery_id
        response = json_response(receipt, status=201)
        response["Location"] = f"/wake/v1/response/{receipt.delivery_id}"
        if delivered.replayed:
            response["Idempotency-Replayed"] = "true"
        if delivered.allowance:
            for name, value in errors.rate_headers(delivered.allowance).items():
                response[name] = value
        return response


class ResponseView(HotView):
    @extend_schema(**openapi.RESPONSE)
    def get(self, request: HttpRequest, delivery_id: str) -> HttpResponse:
        key = remembered_key(request)
        read_limits.count_read(key.pk)
        seconds = wait_seconds(request.GET)
        pk = uuid_of(delivery_id)
        answer = long_poll(
            lambda: pickups.read(key, pk, at=database_now()),
            seconds=seconds,
            until=lambda answer: answer is None or answer.is_settled,
        )
        if answer is None:
            raise Http404
        return json_response(answer)

    def nothing_yet(self) -> dict[str, Any]:
        return {"delivery_id": self.kwargs["delivery_id"], "status": "pending"}


class ResponsesView(HotView):
    @extend_schema(**openapi.RESPONSES)
    def get(self, request: HttpRequest) -> HttpResponse:
        key = remembered_key(request)
        read_limits.count_read(key.pk)
        seconds, query = wait_seconds(request.GET), _sweep_query(request.GET)
        return json_response(
            long_poll(
                lambda: pickups.sweep(key, query, at=database_now()),
                seconds=seconds,
                until=lambda sweep: bool(sweep.deliveries),
            )
        )

    def nothing_yet(self) -> dict[str, Any]:
        since = self.request.GET.get("since")
        return {"deliveries": [], "total": 0, "has_more": False, "next_since": since}


class WithdrawView(ProtocolView):
    @extend_schema(**openapi.WITHDRAW)
    def post(self, request: Request, delivery_id: str) -> HttpResponse:
        key = key_of(request)
        read_limits.count_read(key.pk)
        withdrawn = withdraw_own(
            key,
            uuid_of(delivery_id),
            reason=WITHDRAWAL_PAYLOAD.read(request.data),
            address=throttles.client_address(request),
            at=database_now(),
        )
        if withdrawn is None or withdrawn.withdrawn_at is None:
            raise Http404
        reason = withdrawn.withdrawn_reason or None
        return json_response(
            wire.Withdrawal(withdrawn.pk, "withdrawn", withdrawn.withdrawn_at, reason)
        )


class PublicView(ProtocolView):
    """Answers requests without a key."""

    authentication_classes = ()
    permission_classes = ()


class CapabilitiesView(PublicView):
    @extend_schema(**openapi.CAPABILITIES)
    def get(self, request: Request) -> HttpResponse:
        return json_response(openapi.capabilities())


class OpenApiView(PublicView):
    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return json_response(openapi.openapi())


class JsonSchemaView(PublicView):
    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        return json_response(openapi.json_schema())


@csrf_exempt
def nothing_here(request: HttpRequest) -> HttpResponse:
    """Answers every other path under /wake/ with a 404 in JSON, and a hint for a doubled prefix."""
    if request.path_info.startswith("/wake/v1/wake/"):
        return errors.plain_error(
            404,
            "not_found",
            "The path has /wake/v1 twice: WAKE_ENDPOINT probably ends in /wake/v1 already, and "
            f"your client adds it again: set WAKE_ENDPOINT to {settings.WAKE_ORIGIN}.",
        )
    return errors.plain_error(404, "not_found")


def receipt_of(delivered: Delivered) -> wire.Receipt:
    on_timeout: Any = "hold" if delivered.must_wait else msgspec.UNSET
    delivery = delivered.delivery
    receipt = wire.Receipt(delivery.pk, "received", delivery.created_at, on_timeout)
    if delivery.wants_digest:
        receipt.digest, receipt.nonce = delivery.content_hash, delivery.nonce
        receipt.quorum = delivery.quorum or msgspec.UNSET
        receipt.files = references.digests_of(delivery) or msgspec.UNSET
        receipt.claim_within_seconds = delivery.claim_within_seconds or msgspec.UNSET
    return receipt


def _sweep_query(parameters: QueryDict) -> pickups.SweepQuery:
    values = sweep_parameters(parameters)
    return pickups.SweepQuery(
        limit=values.get("limit", 50),
        since=values.get("since"),
        since_text=parameters.get("since"),
        statuses=values.get("status", ()),
        agent_id=values.get("agent_id"),
    )


def json_response(value: Any, *, status: int = 200) -> HttpResponse:
    response = HttpResponse(wire.encode(value), status=status, content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response


def uuid_of(text: str) -> uuid.UUID:
    """Reads a UUID in upper or lower case. Other text becomes the nil UUID, which costs the same
    query and finds nothing."""
    id = uuid_or_none(text)
    return id if str(id) == text.lower() and id else NIL


def idempotency_of(request: HttpRequest | Request, body: Any) -> Idempotency | None:
    try:
        return Idempotency.of(request.headers.get("Idempotency-Key"), body)
    except BadIdempotencyKey as reason:
        raise ValidationError({"Idempotency-Key": [str(reason)]}) from None
