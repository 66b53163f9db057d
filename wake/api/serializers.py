"""Checks what agents send: the fields of a delivery with their limits, and query parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.http import QueryDict
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.models import SINGLE_LINE
from pages.characters.look_alikes import nfc
from pages.characters.names import is_visible
from wake.api.parsers import JsonObject
from wake.models import Delivery

LONGEST_ID = 128
MAX_ROWS = 200
MAX_DELIVERIES = 50
# These limit a typed block that asks for a choice or a value (docs/protocol.md, Typed blocks).
MAX_OPTIONS, LONGEST_NAME, LONGEST_LABEL = 12, 64, 200
IRREVERSIBLE_PROCEEDS = serializers.ErrorDetail(
    "An irreversible delivery cannot go ahead without an answer. Use hold or abort, or leave "
    "on_timeout out, which means hold.",
    "irreversible",
)
# No text of a body may have U+0000, nor may the name of a member (wake/api/parsers.py).
WITHOUT_NULL = r"^[^\u0000]*$"
STORABLE_MEMBERS = {
    "propertyNames": {"pattern": WITHOUT_NULL},
    "additionalProperties": {"$ref": "#/components/schemas/Storable"},
}
# These are the specification's own fields; every other field is an extension.
SPECIFIED = (
    "agent_id",
    "provider",
    "type",
    "headline",
    "summary",
    "details",
    "callback_webhook",
    "timeout_seconds",
)


def composed(agent_id: str) -> str:
    """Returns an id in NFC, in which it is stored and compared (docs/protocol.md, Identity). An id
    that is too long stays unchanged, because NFC takes quadratic time."""
    return nfc(agent_id) if len(agent_id) <= LONGEST_ID else agent_id


class Text(serializers.CharField):
    """Accepts only a text, while DRF's own field would convert a number. The text is stored as sent
    and must not be blank."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, min_length=1, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if not is_visible(data):
            self.fail("blank")  # a text of only invisible characters is blank, too
        return data


class SingleLine(Text):
    def __init__(self, **options: Any) -> None:
        super().__init__(validators=[SINGLE_LINE], **options)


class AgentId(SingleLine):
    """Accepts an id in any form of Unicode. The limit of its length applies to the stored form."""

    def to_internal_value(self, data: Any) -> str:
        return composed(super().to_internal_value(data))


class DeliveryId(serializers.UUIDField):
    """Accepts an id in the form that a receipt has. DRF's own field would also convert a number."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        return super().to_internal_value(data)


class WholeNumber(serializers.IntegerField):
    """Accepts only JSON's integers: neither "60" nor 60.0 nor true."""

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            self.fail("invalid")
        return data


class TrueOrFalse(serializers.BooleanField):
    """Accepts only JSON's true and false: neither "true" nor 1."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


# drf-spectacular adds `null`
@extend_schema_field({"type": ["object", "string"], "pattern": WITHOUT_NULL, **STORABLE_MEMBERS})
class DetailsField(serializers.JSONField):
    """Accepts an object, a text or null (spec, "Request fields")."""

    default_error_messages = {"invalid": "Must be an object, a text or null."}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict | str):
            self.fail("invalid")
        return data


class DeliveryPayload(serializers.Serializer[Delivery]):
    """Checks the body of POST /wake/v1/deliver, its fields in the protocol's order.

    Lengths are in code points, and a text needs a character that people can see. Unknown fields are
    stored, not refused. The documents of this server are made from this list, and tests compare
    deliver() and the client with it.
    """

    agent_id = AgentId(max_length=LONGEST_ID)
    provider = SingleLine(max_length=128)
    type = serializers.ChoiceField(choices=["update", "question", "output", "alert"])
    headline = SingleLine(max_length=120)
    summary = SingleLine(max_length=280)
    details = DetailsField(required=False, allow_null=True)
    callback_webhook = SingleLine(required=False, allow_null=True, max_length=2048)
    timeout_seconds = WholeNumber(required=False, allow_null=True, min_value=60, max_value=604_800)
    assumption = Text(required=False, allow_null=True, max_length=2000)
    on_timeout = serializers.ChoiceField(
        required=False, allow_null=True, choices=["proceed", "hold", "abort"]
    )
    thread = SingleLine(required=False, allow_null=True, max_length=128)
    supersedes = DeliveryId(required=False, allow_null=True)
    priority = serializers.ChoiceField(
        required=False, allow_null=True, choices=["low", "normal", "high"]
    )
    quorum = WholeNumber(required=False, allow_null=True, min_value=2, max_value=5)
    irreversible = TrueOrFalse(required=False, allow_null=True)
    claim_within_seconds = WholeNumber(
        required=False, allow_null=True, min_value=60, max_value=604_800
    )
    digest = TrueOrFalse(required=False, allow_null=True)
    receipt = TrueOrFalse(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("irreversible") and attrs.get("on_timeout") == Delivery.OnTimeout.PROCEED:
            raise serializers.ValidationError({"on_timeout": [IRREVERSIBLE_PROCEEDS]})
        return attrs

    def read(self, body: JsonObject) -> dict[str, Any]:
        """Returns the keywords of deliver(): the fields that are present and not null. `details` is
        the JSON text that was sent, and unknown fields are in `extensions`. Raises
        ValidationError."""
        fields = {
            name: value for name, value in self.run_validation(body).items() if value is not None
        }
        if "details" in fields:
            fields["details_json"] = body.text("details")
            del fields["details"]
        fields["extensions"] = {name: body[name] for name in body if name not in self.fields}
        return fields


class BatchItemPayload(DeliveryPayload):
    """Describes one delivery of a batch: the body of POST /wake/v1/deliver, and its
    Idempotency-Key."""

    idempotency_key = SingleLine(required=False, allow_null=True, max_length=255)


class BatchPayload(serializers.Serializer[Delivery]):
    """Describes the body of POST /wake/v1/deliveries for the documents. batches.py reads the
    body."""

    deliveries = serializers.ListField(
        child=BatchItemPayload(), min_length=1, max_length=MAX_DELIVERIES
    )
    atomic = serializers.BooleanField(required=False, allow_null=True)


class WithdrawalPayload(serializers.Serializer[Delivery]):
    """Checks the body of POST /wake/v1/withdraw/{delivery_id}. Without a body there is no
    reason."""

    reason = Text(required=False, allow_null=True, max_length=500)

    def read(self, body: Any) -> str:
        """Returns the reason, or an empty text. Raises ValidationError."""
        return self.run_validation(body or {}).get("reason") or ""


DIGEST = "^[0-9a-f]{64}$"


class ClaimPayload(serializers.Serializer[Delivery]):
    """Checks the body of POST /wake/v1/claim/{delivery_id}."""

    digest = serializers.RegexField(
        DIGEST,
        trim_whitespace=False,
        error_messages={
            "invalid": "Must be the digest from the receipt: 64 characters of 0-9 and a-f."
        },
    )

    def read(self, body: Any) -> str:
        """Returns the digest. Raises ValidationError."""
        digest: str = self.run_validation(body)["digest"]
        return digest


class OutcomePayload(serializers.Serializer[Delivery]):
    """Checks the body of POST /wake/v1/outcome/{delivery_id}."""

    status = serializers.ChoiceField(choices=["done", "failed", "skipped"])
    summary = SingleLine(required=False, allow_null=True, max_length=280)
    details = DetailsField(required=False, allow_null=True)

    def read(self, body: Any) -> dict[str, Any]:
        """Returns the keywords of report(), `details` as the JSON text that was sent. Raises
        ValidationError."""
        fields = {
            name: value for name, value in self.run_validation(body).items() if value is not None
        }
        if fields.pop("details", None) is not None:
            fields["details_json"] = body.text("details")
        return fields


# Validating has no state. A new Serializer for each request would copy every field.
DELIVERY_PAYLOAD = DeliveryPayload()
WITHDRAWAL_PAYLOAD = WithdrawalPayload()
CLAIM_PAYLOAD = ClaimPayload()
OUTCOME_PAYLOAD = OutcomePayload()
EXTENSION_FIELDS = [name for name in DELIVERY_PAYLOAD.get_fields() if name not in SPECIFIED]


class Since(serializers.Field[datetime, str, str, Any]):
    """Reads ISO 8601 with `Z`, an offset or neither, which means UTC. A space instead of `+` is
    accepted, because an unencoded `+` becomes one."""

    default_error_messages = {
        "invalid": "Not an ISO 8601 time, for example 2026-03-08T11:55:00Z. Leave it out for all."
    }
    LOST_PLUS = re.compile(r"(.*\d[T ]\d.*) (\d\d(?::?\d\d)?)", re.ASCII)
    LONGEST = 50  # characters, because the pattern takes quadratic time

    def to_internal_value(self, data: str) -> datetime:
        if len(data) > self.LONGEST:
            self.fail("invalid")
        if lost := self.LOST_PLUS.fullmatch(data):
            data = "+".join(lost.groups())
        try:
            since = datetime.fromisoformat(data.upper())
            return (since if since.tzinfo else since.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail("invalid")


class Statuses(serializers.Field[tuple[str, ...], str, str, Any]):
    """Reads a comma list of statuses."""

    default_error_messages = {
        "invalid": "A comma list of pending, approved, rejected, redirected. Leave it out for all."
    }

    def to_internal_value(self, data: str) -> tuple[str, ...]:
        names = tuple(name.strip() for name in data.split(","))
        if not set(names) <= set(Delivery.Status.values):
            self.fail("invalid")
        return names


class QueryNumber(serializers.Field[int, str, str, Any]):
    """Reads decimal digits within a range; with `clamp`, a larger number becomes the largest."""

    default_error_messages = {"invalid": "Must be a whole number from {low} to {high}."}

    def __init__(self, *, low: int, high: int, clamp: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.low, self.high, self.clamp = low, high, clamp

    def to_internal_value(self, data: str) -> int:
        if not (data.isascii() and data.isdecimal()):
            self.fail("invalid", low=self.low, high=self.high)
        digits = data.lstrip("0") or "0"
        number = int(digits) if len(digits) <= 9 else self.high + 1
        if number < self.low or (number > self.high and not self.clamp):
            self.fail("invalid", low=self.low, high=self.high)
        return min(number, self.high)


class AnyId(serializers.CharField):
    """Reads any text, in any form of Unicode. If the text cannot be an agent's id, no delivery is
    found."""

    def to_internal_value(self, data: Any) -> str:
        return composed(super().to_internal_value(data))


WAIT = QueryNumber(low=1, high=25)
PROOF = QueryNumber(low=1, high=1, error_messages={"invalid": "Must be 1, or left out."})
SWEEP: dict[str, serializers.Field[Any, Any, Any, Any]] = {
    "agent_id": AnyId(allow_blank=True, trim_whitespace=False),
    "status": Statuses(),
    "since": Since(),
    "limit": QueryNumber(low=1, high=MAX_ROWS, clamp=True),
}


def wait_seconds(query: QueryDict) -> int:
    """Returns the seconds of the long poll; 0 means no long poll. Raises ValidationError."""
    return int(_read({"wait": WAIT}, query).get("wait", 0))


def wants_proof(query: QueryDict) -> bool:
    """Returns whether a receipt is to have its proof. Raises ValidationError."""
    return bool(_read({"proof": PROOF}, query).get("proof", 0))


def sweep_parameters(query: QueryDict) -> dict[str, Any]:
    """Returns the parameters that are present. Raises ValidationError with all problems
    together."""
    return _read(SWEEP, query)


def _read(fields: Mapping[str, Any], query: QueryDict) -> dict[str, Any]:
    # This is a plain function, because a Serializer would copy its fields for every poll.
    values: dict[str, Any] = {}
    problems: dict[str, Any] = {}
    for name, field in fields.items():
        if name not in query:
            continue
        if len(query.getlist(name)) > 1:
            # Django would read only the last one of `status=approved&status=rejected`.
            problems[name] = [serializers.ErrorDetail("Must be there once.", "repeated")]
            continue
        try:
            values[name] = field.run_validation(query[name])
        except serializers.ValidationError as error:
            problems[name] = error.detail
    if problems:
        raise serializers.ValidationError(problems)
    return values
