"""Describes this server in capabilities, OpenAPI 3.1 and JSON Schema. The descriptions are made
from serializers.py and wire.py."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec
from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from wake import wire
from wake.api.serializers import (
    EXTENSION_FIELDS,
    MAX_DELIVERIES,
    MAX_ROWS,
    BatchPayload,
    ClaimPayload,
    DeliveryPayload,
    OutcomePayload,
    WithdrawalPayload,
)
from wake.blobs import pictures

PROTOCOL = "1.0"
EXTENSIONS = sorted(
    [
        *EXTENSION_FIELDS,
        "batch",
        "blobs",
        "claim",
        "erased",
        "expires_at",
        "idempotency",
        "outcome",
        "proof",
        "standard-webhooks",
        "wait",
        "wake_blocks",
        "withdraw",
        "withdrawn_at",
    ]
)
COMPONENT = "#/components/schemas/{name}"


def _answers(success: dict[int, str], *errors: int) -> dict[Any, Any]:
    """Returns the wire's structs by status code, including the errors that every endpoint has."""
    named = {**success, **dict.fromkeys([*errors, 401, 403, 429, 503], "ErrorBody")}
    return {
        (str(code), "application/json"): OpenApiResponse(
            {"$ref": COMPONENT.format(name=name)}, description=HTTPStatus(code).phrase
        )
        for code, name in named.items()
    }


WAIT = OpenApiParameter(
    "wait",
    {"type": "integer", "minimum": 1, "maximum": 25},
    description="Long poll: seconds to wait for something to return.",
)
DELIVER: dict[str, Any] = {
    "operation_id": "deliver",
    "description": "Submit a delivery to the people of the key's team.",
    "request": {"application/json": DeliveryPayload},
    "parameters": [
        OpenApiParameter(
            "Idempotency-Key",
            {"type": "string", "minLength": 1, "maxLength": 255},
            OpenApiParameter.HEADER,
            description="The same key and body within 24 hours are the same delivery.",
        )
    ],
    "responses": _answers({201: "Receipt"}, 400, 413, 422),
}
BATCH: dict[str, Any] = {
    "operation_id": "batch",
    "description": "Submit up to 50 deliveries, each with a result of its own.",
    "request": {"application/json": BatchPayload},
    "responses": _answers({200: "Batch"}, 400, 413, 422),
}
BLOB: dict[str, Any] = {
    "operation_id": "upload",
    "description": "Store a file that blocks of later deliveries show: the bytes of the file as "
    "the body, and its media type as Content-Type.",
    "request": {"application/octet-stream": OpenApiTypes.BINARY, "image/png": OpenApiTypes.BINARY},
    "responses": _answers({201: "Blob"}, 400, 413, 415, 422),
}
RESPONSE: dict[str, Any] = {
    "operation_id": "response",
    "description": "The answer to one delivery of the key's agent.",
    "parameters": [
        OpenApiParameter("delivery_id", OpenApiTypes.UUID, OpenApiParameter.PATH),
        WAIT,
    ],
    "responses": _answers({200: "Answer"}, 404, 422),
}
RESPONSES: dict[str, Any] = {
    "operation_id": "responses",
    "description": "The answers to all deliveries of the key's agent, in order.",
    "parameters": [
        OpenApiParameter("agent_id", {"type": "string"}, description="Only this agent id's."),
        OpenApiParameter(
            "status",
            {"type": "string", "pattern": "^(pending|approved|rejected|redirected)(,|$)"},
            description="A comma list of statuses.",
        ),
        OpenApiParameter(
            "since", {"type": "string"}, description="`next_since` of the last sweep."
        ),
        OpenApiParameter("limit", {"type": "integer", "minimum": 1}, description="200 at most."),
        WAIT,
    ],
    "responses": _answers({200: "Sweep"}, 422),
}
WITHDRAW: dict[str, Any] = {
    "operation_id": "withdraw",
    "description": "Take a delivery back that needs no answer any more.",
    "request": {"application/json": WithdrawalPayload},
    "parameters": [OpenApiParameter("delivery_id", OpenApiTypes.UUID, OpenApiParameter.PATH)],
    "responses": _answers({200: "Withdrawal"}, 400, 404, 409, 413, 422),
}
CLAIM: dict[str, Any] = {
    "operation_id": "claim",
    "description": "Use an approval, just before acting on it. It works once, with the digest of "
    "what was approved.",
    "request": {"application/json": ClaimPayload},
    "parameters": [
        OpenApiParameter("delivery_id", OpenApiTypes.UUID, OpenApiParameter.PATH),
        OpenApiParameter(
            "Idempotency-Key",
            {"type": "string", "minLength": 1, "maxLength": 255},
            OpenApiParameter.HEADER,
            description="The same key again gets the same claim.",
        ),
    ],
    "responses": _answers({200: "Claim"}, 400, 404, 409, 413, 422),
}
CLAIM_STATUS: dict[str, Any] = {
    "operation_id": "claim_status",
    "description": "The status and the digest of a delivery, for a gate key.",
    "parameters": [OpenApiParameter("delivery_id", OpenApiTypes.UUID, OpenApiParameter.PATH)],
    "responses": _answers({200: "ClaimStatus"}, 404),
}
OUTCOME: dict[str, Any] = {
    "operation_id": "outcome",
    "description": "Report what came of a delivery.",
    "request": {"application/json": OutcomePayload},
    "parameters": [OpenApiParameter("delivery_id", OpenApiTypes.UUID, OpenApiParameter.PATH)],
    "responses": _answers({201: "OutcomeReceipt"}, 400, 404, 409, 413, 422),
}
RECEIPT: dict[str, Any] = {
    "operation_id": "receipt",
    "description": "The signed receipt of the answer to a delivery, as an SD-JWT (RFC 9901). The "
    "agent's key gets the disclosures of the content and the votes, and a gate key gets none. With "
    "proof=1, the answer is a tlog-proof (https://c2sp.org/tlog-proof) that has the receipt.",
    "parameters": [
        OpenApiParameter("delivery_id", OpenApiTypes.UUID, OpenApiParameter.PATH),
        OpenApiParameter(
            "proof",
            {"type": "integer", "enum": [1]},
            description="1: return the receipt with the proof that it is in the log.",
        ),
    ],
    "responses": {
        **_answers({}, 404, 409, 422),
        (200, "text/plain"): OpenApiResponse({"type": "string"}, description="OK"),
        (200, "application/sd-jwt"): OpenApiResponse({"type": "string"}, description="OK"),
    },
}
CAPABILITIES: dict[str, Any] = {
    "operation_id": "capabilities",
    "description": "Lists the protocols and limits of this server; needs no key.",
    "auth": [],
    "responses": {200: {"type": "object"}},
}


def capabilities() -> dict[str, Any]:
    """Returns the body of GET /wake/v1."""
    return {
        "protocol": PROTOCOL,
        "extensions": EXTENSIONS,
        "limits": {
            "body_bytes": settings.WAKE_MAX_BODY_BYTES,
            "blob_bytes": settings.WAKE_MAX_BLOB_BYTES,
            "image_pixels": pictures.MAX_PIXELS,
            "deliveries": {
                mode: {"per_hour": hourly, "burst": burst}
                for mode, (hourly, burst) in {
                    "live": settings.WAKE_QUOTA_LIVE,
                    "test": settings.WAKE_QUOTA_TEST,
                }.items()
            },
            "batch_deliveries": MAX_DELIVERIES,
            "reads_per_minute": settings.WAKE_READS_PER_MINUTE,
            "responses_limit": MAX_ROWS,
            "hold_seconds": settings.WAKE_HOLD_SECONDS,
        },
    }


# No delivery is both (serializers.DeliveryPayload.validate).
IRREVERSIBLE_PROCEEDS = {
    "properties": {"irreversible": {"const": True}, "on_timeout": {"const": "proceed"}},
    "required": ["irreversible", "on_timeout"],
}


@cache
def openapi() -> dict[str, Any]:
    """Returns OpenAPI 3.1 of everything under /wake/v1."""
    schema: dict[str, Any] = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return schema


def json_schema() -> dict[str, Any]:
    """Returns the JSON Schema (2020-12) of a delivery and of a response."""
    components = openapi()["components"]["schemas"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "WAKE v1",
        "$defs": {
            "delivery": components["DeliveryPayload"],
            "receipt": components["Receipt"],
            "response": components["Answer"],
        },
    }


class KeySecurity(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes how keys are sent. drf-spectacular finds this class by its target class."""

    target_class = "wake.api.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "wk_live_... or wk_test_..."}


class GateSecurity(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes the keys that a claim may be made with."""

    target_class = "wake.api.authentication.GateOrKeyAuthentication"
    name = "gate_or_key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        description = "wk_gate_..., wk_live_... or wk_test_..."
        return {"type": "http", "scheme": "bearer", "description": description}


def only_the_protocol(endpoints: list[Any]) -> list[Any]:
    """Filters the endpoints for drf-spectacular: each path appears once, without the variant that
    has a trailing slash."""
    return [
        endpoint
        for endpoint in endpoints
        if endpoint[0].startswith("/wake/v1") and endpoint[0][-1] != "/"
    ]


def add_the_wire(result: dict[str, Any], **hook: Any) -> dict[str, Any]:
    """Adds the structs of the wire. This is a postprocessing hook of drf-spectacular."""
    structs = [
        *(wire.Receipt, wire.Batch, wire.Blob, wire.Withdrawal, wire.Answer, wire.Sweep),
        *(wire.Claim, wire.ClaimStatus, wire.OutcomeReceipt),
        wire.ErrorBody,
    ]
    _, components = msgspec.json.schema_components(structs, ref_template=COMPONENT)
    schemas = result["components"]["schemas"]
    schemas.update(components)
    for name in ("DeliveryPayload", "BatchItemPayload"):
        schemas[name]["not"] = IRREVERSIBLE_PROCEEDS
    return result
