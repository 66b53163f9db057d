"""Describes this server in capabilities, OpenAPI 3.1 and JSON Schema. The descriptions are made
from serializers.py and wire.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from wake.api.parsers import LARGEST
from wake.api.serializers import (
    EXTENSION_FIELDS,
    MAX_DELIVERIES,
    MAX_ROWS,
    STORABLE_MEMBERS,
    WITHOUT_NULL,
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

# Errors that come before the key is read: an unknown host or a body that was cut off, plain http,
# another method, a body that is too slow or too large (even of a GET), and a failure of the server.
BEFORE_THE_KEY = (400, 403, 405, 408, 413, 500)
EVERY_ERROR = (*BEFORE_THE_KEY, 401, 421, 429, 503)


def _answers(
    success: dict[int, str], *errors: int, always: Iterable[int] = EVERY_ERROR
) -> dict[Any, Any]:
    """Returns the wire's structs by status code, including the errors that every endpoint has."""
    named = {**success, **dict.fromkeys(sorted({*errors, *always}), "ErrorBody")}
    return {
        (str(code), "application/json"): OpenApiResponse(
            {"$ref": COMPONENT.format(name=name)}, description=HTTPStatus(code).phrase
        )
        for code, name in named.items()
    }


def _idempotency_key(description: str) -> OpenApiParameter:
    return OpenApiParameter(
        "Idempotency-Key",
        {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]*$"},
        OpenApiParameter.HEADER,
        description=description,
    )


WAIT = OpenApiParameter(
    "wait",
    {"type": "integer", "minimum": 1, "maximum": 25},
    description="Long poll: seconds to wait for something to return.",
)
STATUS = r"\s*(pending|approved|rejected|redirected)\s*"
DELIVER: dict[str, Any] = {
    "operation_id": "deliver",
    "description": "Submit a delivery to the people of the key's team.",
    "request": {"application/json": DeliveryPayload},
    "parameters": [
        _idempotency_key("The same key and body within 24 hours are the same delivery."),
    ],
    "responses": _answers({201: "Receipt"}, 422),
}
BATCH: dict[str, Any] = {
    "operation_id": "batch",
    "description": "Submit up to 50 deliveries, each with a result of its own.",
    "request": {"application/json": BatchPayload},
    "responses": _answers({200: "Batch"}, 422),
}
BLOB: dict[str, Any] = {
    "operation_id": "upload",
    "description": "Store a file that blocks of later deliveries show: the bytes of the file as "
    "the body, and its media type as Content-Type.",
    "request": {"application/octet-stream": OpenApiTypes.BINARY, "image/png": OpenApiTypes.BINARY},
    "responses": _answers({201: "Blob"}, 415, 422),
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
        OpenApiParameter(
            "agent_id",
            {"type": "string", "pattern": WITHOUT_NULL},
            description="Only this agent id's.",
        ),
        OpenApiParameter(
            "status",
            {"type": "string", "pattern": f"^{STATUS}(,{STATUS})*$"},
            description="A comma list of statuses.",
        ),
        OpenApiParameter(
            "since",
            {"type": "string", "format": "date-time"},
            description="`next_since` of the last sweep.",
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
    "responses": _answers({200: "Withdrawal"}, 404, 409, 422),
}
CLAIM: dict[str, Any] = {
    "operation_id": "claim",
    "description": "Use an approval, just before acting on it. It works once, with the digest of "
    "what was approved.",
    "request": {"application/json": ClaimPayload},
    "parameters": [
        OpenApiParameter("delivery_id", OpenApiTypes.UUID, OpenApiParameter.PATH),
        _idempotency_key("The same key again gets the same claim."),
    ],
    "responses": _answers({200: "Claim"}, 404, 409, 422),
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
    "parameters": [
        OpenApiParameter("delivery_id", OpenApiTypes.UUID, OpenApiParameter.PATH),
        _idempotency_key("The same key and body within 24 hours are the same outcome."),
    ],
    "responses": _answers({201: "OutcomeReceipt"}, 404, 409, 422),
}
RECEIPT: dict[str, Any] = {
    "operation_id": "receipt",
    # Its own class reads keys as GateOrKeyAuthentication does, and has no description of its own.
    "auth": [{"gate_or_key": []}],
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
    "responses": {
        **_answers({}, always=BEFORE_THE_KEY),
        (200, "application/json"): OpenApiResponse({"type": "object"}, description="OK"),
    },
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


@cache
def openapi() -> dict[str, Any]:
    """Returns OpenAPI 3.1 of everything under /wake/v1."""
    schema: dict[str, Any] = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return schema


def json_schema() -> dict[str, Any]:
    """Returns the JSON Schema (2020-12) of a delivery and of a response, with the schemas that they
    refer to."""
    components = openapi()["components"]["schemas"]
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "WAKE v1",
        "$defs": {
            "delivery": components["DeliveryPayload"],
            "receipt": components["Receipt"],
            "response": components["Answer"],
            **{name: components[name] for name in ("Decision", "Quorum", "Rule", "Storable")},
        },
    }
    text = msgspec.json.encode(document).decode().replace("#/components/schemas/", "#/$defs/")
    schema: dict[str, Any] = msgspec.json.decode(text)
    return schema


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


# No delivery is both (serializers.DeliveryPayload.validate).
IRREVERSIBLE_PROCEEDS = {
    "properties": {"irreversible": {"const": True}, "on_timeout": {"const": "proceed"}},
    "required": ["irreversible", "on_timeout"],
}
# Payloads that take unknown members, too.
OPEN_PAYLOADS = (
    *("DeliveryPayload", "BatchItemPayload", "WithdrawalPayload", "ClaimPayload", "OutcomePayload"),
)
# JSON that this server stores (wake/api/parsers.py). Generators of clients ignore what they do not
# know of it.
STORABLE = {
    "description": "Any JSON without U+0000 and without whole numbers beyond 64 bits.",
    "type": ["null", "boolean", "number", "string", "array", "object"],
    "pattern": WITHOUT_NULL,
    "minimum": -LARGEST,
    "maximum": LARGEST,
    "items": {"$ref": COMPONENT.format(name="Storable")},
    **STORABLE_MEMBERS,
}
RATE_LIMIT = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
HEADERS: dict[str, tuple[str, dict[str, Any]]] = {
    "Location": ("The path of the answer.", {"type": "string"}),
    "Idempotency-Replayed": (
        "Present if an earlier request was the same, so this one stored nothing.",
        {"const": "true"},
    ),
    "X-RateLimit-Limit": ("How many the key may deliver at once.", {"type": "integer"}),
    "X-RateLimit-Remaining": ("How many of them are left.", {"type": "integer"}),
    "X-RateLimit-Reset": ("The Unix time at which all are left again.", {"type": "integer"}),
    "WWW-Authenticate": ("The scheme of the key (RFC 6750).", {"const": "Bearer"}),
    "Allow": ("The methods of the path.", {"type": "string"}),
    "Wake-Moved-To": ("The server to which the team has moved.", {"type": "string"}),
    "Retry-After": ("Seconds to wait before the same request.", {"type": "integer", "minimum": 1}),
}
ALWAYS_SENT = {
    "401": ["WWW-Authenticate"],
    "405": ["Allow"],
    "421": ["Wake-Moved-To"],
    "429": ["Retry-After"],
    "503": ["Retry-After"],
}
ALWAYS_SENT_BY = {"deliver": {"201": ["Location"]}}
MAY_BE_SENT_BY: dict[str, dict[str, Sequence[str]]] = {
    "deliver": {"201": ["Idempotency-Replayed", *RATE_LIMIT], "429": RATE_LIMIT},
    "batch": {"200": RATE_LIMIT, "429": RATE_LIMIT},
    "upload": {"201": ["Idempotency-Replayed", *RATE_LIMIT], "429": RATE_LIMIT},
    "claim": {"200": ["Idempotency-Replayed"]},
    "outcome": {"201": ["Idempotency-Replayed"]},
}


def complete(result: dict[str, Any], **hook: Any) -> dict[str, Any]:
    """Adds the address of the server, the headers, and the structs of the wire. This is a
    postprocessing hook of drf-spectacular."""
    _add_headers(result)
    _add_the_wire(result)
    return {**result, "servers": [{"url": settings.WAKE_ORIGIN}]}


def _add_headers(result: dict[str, Any]) -> None:
    for item in result["paths"].values():
        for operation in item.values():
            name = operation["operationId"]
            for code, response in operation["responses"].items():
                sent = [*ALWAYS_SENT.get(code, ()), *ALWAYS_SENT_BY.get(name, {}).get(code, ())]
                maybe = MAY_BE_SENT_BY.get(name, {}).get(code, ())
                described = {header: _header(header, is_required=True) for header in sent}
                described |= {header: _header(header, is_required=False) for header in maybe}
                if described:
                    response["headers"] = described


def _header(name: str, *, is_required: bool) -> dict[str, Any]:
    description, schema = HEADERS[name]
    header: dict[str, Any] = {"description": description, "schema": schema}
    return header | {"required": True} if is_required else header


def _add_the_wire(result: dict[str, Any]) -> None:
    structs = [
        *(wire.Receipt, wire.Batch, wire.Blob, wire.Withdrawal, wire.Answer, wire.Sweep),
        *(wire.Claim, wire.ClaimStatus, wire.OutcomeReceipt),
        wire.ErrorBody,
    ]
    _, components = msgspec.json.schema_components(structs, ref_template=COMPONENT)
    schemas = result["components"]["schemas"]
    schemas.update(components)
    schemas["Storable"] = STORABLE
    for name in OPEN_PAYLOADS:
        schemas[name] |= STORABLE_MEMBERS
        for field in schemas[name]["properties"].values():
            if "string" in field["type"] and field.keys().isdisjoint({"enum", "format"}):
                field.setdefault("pattern", WITHOUT_NULL)
    for name in ("DeliveryPayload", "BatchItemPayload"):
        schemas[name]["not"] = IRREVERSIBLE_PROCEEDS
    schemas["BatchPayload"]["additionalProperties"] = False
    upload = result["paths"]["/wake/v1/blobs"]["post"]["requestBody"]
    upload["required"] = True
    for media in upload["content"].values():
        media["schema"] = {"type": "string", "format": "binary", "minLength": 1}
