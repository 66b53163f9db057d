"""Takes up to 50 deliveries in one request, and returns a result for each (RFC-001)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ErrorDetail, ValidationError

from accounts.agents import keys
from accounts.agents.quota import Allowance, KeyEnded, QuotaSpent
from accounts.limits import throttles
from accounts.models import ApiKey
from database import outages
from database.clock import database_now
from database.idempotency import BadIdempotencyKey, Idempotency
from wake import wire
from wake.api import errors, log_context, openapi
from wake.api.authentication import remembered_key
from wake.api.parsers import JsonObject, Malformed, parse_object, read_object
from wake.api.serializers import DELIVERY_PAYLOAD, MAX_DELIVERIES
from wake.api.views import HotView, json_response, receipt_of
from wake.batches import Unsent, deliver_together
from wake.deliveries import Delivered, DeliveryFields, deliver

logger = logging.getLogger(__name__)

KEY = "idempotency_key"
MEMBERS = {"deliveries", "atomic"}


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """Holds the items as JSON texts, and whether all of them are stored or none."""

    items: list[msgspec.Raw]
    is_atomic: bool


class BatchView(HotView):
    @extend_schema(**openapi.BATCH)
    def post(self, request: HttpRequest) -> HttpResponse:
        key = remembered_key(request)
        try:
            batch = _batch(read_object(request))
            unsent = _all_unsent(batch.items) if batch.is_atomic else []
        except Exception:
            # Raises the error of an ended key, which then hides all other errors.
            keys.check_again(key, at=database_now())
            raise
        address = throttles.client_address(request)
        if batch.is_atomic:
            delivered = deliver_together(
                unsent,
                key=key,
                address=address,
                traceparent=log_context.current().traceparent,
                at=database_now(),
            )
            results = [_stored(each) for each in delivered]
            allowances = [each.allowance for each in delivered]
        else:
            results, allowances = _each(batch.items, key, address)
        response = json_response(wire.Batch(results))
        for allowance in [each for each in allowances if each][-1:]:
            for name, value in errors.rate_headers(allowance).items():
                response[name] = value
        return response


def _batch(body: JsonObject) -> BatchRequest:
    """Checks the members of the request. An unknown member is refused, because a misspelt `atomic`
    would store a part."""
    problems: dict[str, Any] = {
        name[:80]: [ErrorDetail("The members are deliveries and atomic.", "unknown")]
        for name in [name for name in body if name not in MEMBERS][:5]
    }
    deliveries, is_atomic = body.get("deliveries"), body.get("atomic")
    if deliveries is None:
        problems["deliveries"] = [ErrorDetail("This field is required.", "required")]
    elif not isinstance(deliveries, list) or not 1 <= len(deliveries) <= MAX_DELIVERIES:
        problems["deliveries"] = [f"Must be a list of 1 to {MAX_DELIVERIES} deliveries."]
    if not isinstance(is_atomic, bool | None):
        problems["atomic"] = ["Must be true or false."]
    if problems:
        raise ValidationError(problems)
    items = msgspec.json.decode(body.text("deliveries") or "[]", type=list[msgspec.Raw])
    return BatchRequest(items, bool(is_atomic))


def _each(
    items: list[msgspec.Raw], key: ApiKey, address: str
) -> tuple[list[wire.BatchResult], list[Allowance | None]]:
    """Stores each item in a transaction of its own. An error that affects all items, such as an
    ended key, fails the request if nothing was stored. If something was stored, the remaining items
    get that error."""
    results: list[wire.BatchResult] = []
    allowances: list[Allowance | None] = []
    for item in items:
        try:
            unsent = _unsent(item)
            delivered = deliver(
                key.agent,
                key=key,
                idempotency=unsent.idempotency,
                address=address,
                traceparent=log_context.current().traceparent,
                at=database_now(),
                **unsent.fields,
            )
        except Exception as failure:
            concerns_all = isinstance(failure, KeyEnded) or outages.is_away(failure)
            if concerns_all and not any(result.status_code == 201 for result in results):
                raise
            results.append(_refused(failure))
            if isinstance(failure, QuotaSpent):
                allowances.append(failure.allowance)
            if concerns_all:
                results += [results[-1]] * (len(items) - len(results))
                break
        else:
            results.append(_stored(delivered))
            allowances.append(delivered.allowance)
    return results, allowances


def _all_unsent(items: list[msgspec.Raw]) -> list[Unsent]:
    """Reads all items. Raises ValidationError with all their problems, each under a name such as
    `deliveries[3].headline`."""
    unsent: list[Unsent] = []
    problems: dict[str, Any] = {}
    for place, item in enumerate(items):
        try:
            unsent.append(_unsent(item))
        except ValidationError as failure:
            details: Mapping[str, Any] = failure.detail  # type: ignore[assignment]
            problems |= {f"deliveries[{place}].{field}": each for field, each in details.items()}
        except Malformed as failure:
            problems[f"deliveries[{place}]"] = [ErrorDetail(str(failure), "malformed")]
    if problems:
        raise ValidationError(problems)
    return unsent


def _unsent(item: msgspec.Raw) -> Unsent:
    """Reads one item: the body of POST /wake/v1/deliver, and its `idempotency_key`. The key is not
    a part of that body. So a delivery that is repeated in a batch counts as the same request as one
    that was sent alone, and the other way round. Raises Malformed or ValidationError."""
    if not bytes(item).lstrip().startswith(b"{"):
        raise Malformed("A delivery is a JSON object.")
    members = parse_object(bytes(item))
    key = members.pop(KEY, None)
    fields: DeliveryFields = DELIVERY_PAYLOAD.read(members)  # type: ignore[assignment]
    if key is not None and not isinstance(key, str):
        raise ValidationError({KEY: ["Must be a text."]})
    try:
        return Unsent(fields, Idempotency.of(key, members))
    except BadIdempotencyKey as reason:
        raise ValidationError({KEY: [str(reason)]}) from None


def _stored(delivered: Delivered) -> wire.BatchResult:
    body = msgspec.Raw(wire.encode(receipt_of(delivered)))
    return wire.BatchResult(201, body, replayed=delivered.replayed)


def _refused(failure: Exception) -> wire.BatchResult:
    refusal = errors.refusal_of(failure)
    if refusal.error.code == "server_error":
        logger.error("A delivery of a batch failed", exc_info=failure)
    body = msgspec.Raw(wire.encode(wire.ErrorBody(refusal.error)))
    return wire.BatchResult(refusal.status, body, retry_after=refusal.retry_after)
