"""Serves the claim of an approval and its receipt, for agents and for gates, and the report of its
outcome."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from accounts.limits import read_limits, throttles
from accounts.models import Gate
from database.clock import database_now
from wake import claims, wire
from wake.api import openapi
from wake.api.authentication import (
    GateOrKeyAuthentication,
    HasGateOrKey,
    RememberedGateOrKeyAuthentication,
    key_of,
)
from wake.api.serializers import CLAIM_PAYLOAD, OUTCOME_PAYLOAD, wants_proof
from wake.api.views import ProtocolView, idempotency_of, json_response, uuid_of
from wake.claims import Claimant
from wake.outcomes import report


class ClaimView(ProtocolView):
    authentication_classes = (GateOrKeyAuthentication,)
    permission_classes = (HasGateOrKey,)

    @extend_schema(**openapi.CLAIM_STATUS)
    def get(self, request: Request, delivery_id: str) -> HttpResponse:
        """Tells a gate whether the approval can be claimed. An agent polls instead, which marks the
        answer as picked up."""
        claimant = _claimant(request)
        if claimant.gate is None:
            raise Http404
        status = claims.read(claimant, uuid_of(delivery_id), at=database_now())
        if status is None:
            raise Http404
        return json_response(status)

    @extend_schema(**openapi.CLAIM)
    def post(self, request: Request, delivery_id: str) -> HttpResponse:
        claimant = _claimant(request)
        idempotency = idempotency_of(request, request.data)
        claimed = claims.claim(
            claimant,
            uuid_of(delivery_id),
            digest=CLAIM_PAYLOAD.read(request.data),
            idempotency_key=idempotency.key if idempotency else "",
            at=database_now(),
        )
        if claimed is None:
            raise Http404
        claim, is_replayed = claimed
        response = json_response(claims.confirmation_of(claim))
        return _marked(response, is_replayed=is_replayed)


class ReceiptView(ProtocolView):
    authentication_classes = (RememberedGateOrKeyAuthentication,)
    permission_classes = (HasGateOrKey,)

    @extend_schema(**openapi.RECEIPT)
    def get(self, request: Request, delivery_id: str) -> HttpResponse:
        has_proof = wants_proof(request.GET)
        receipt = claims.receipt(
            _claimant(request),
            uuid_of(delivery_id),
            wants_proof=has_proof,
            at=database_now(),
        )
        if receipt is None:
            raise Http404
        kind = "text/plain; charset=utf-8" if has_proof else "application/sd-jwt"
        response = HttpResponse(receipt, content_type=kind)
        response["Cache-Control"] = "no-store"
        return response


class OutcomeView(ProtocolView):
    @extend_schema(**openapi.OUTCOME)
    def post(self, request: Request, delivery_id: str) -> HttpResponse:
        key = key_of(request)
        read_limits.count_read(key.pk)
        reported = report(
            key,
            uuid_of(delivery_id),
            **OUTCOME_PAYLOAD.read(request.data),
            idempotency=idempotency_of(request, request.data),
            address=throttles.client_address(request),
            at=database_now(),
        )
        if reported is None:
            raise Http404
        outcome, is_replayed = reported
        receipt = wire.OutcomeReceipt(outcome.delivery_id, outcome.status, outcome.reported_at)  # type: ignore[arg-type]
        return _marked(json_response(receipt, status=201), is_replayed=is_replayed)


def _marked(response: HttpResponse, *, is_replayed: bool) -> HttpResponse:
    """Marks the response to a request that repeats an earlier one, in the same way as for a
    repeated delivery."""
    if is_replayed:
        response["Idempotency-Replayed"] = "true"
    return response


def _claimant(request: Request) -> Claimant:
    """Counts the request, and returns who claims. Raises TooManyRequests."""
    read_limits.count_read(request.auth.pk)
    address = throttles.client_address(request)
    if isinstance(request.auth, Gate):
        return Claimant(gate=request.auth, address=address)
    return Claimant(key=key_of(request), address=address)
