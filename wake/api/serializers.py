"""What agents send, in the specification's order: field names, limits and wording of the wire."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.http import QueryDict
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.models import SINGLE_LINE
from wake.models import Delivery
from wake.parsers import JsonObject
from wake.pickups import SweepQuery

MOST_ROWS = 200


class Text(serializers.CharField):
    """A text and nothing else: DRF's own field would take a number for one. Kept as sent, but never
    only blanks."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, min_length=1, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if not any(sign.isprintable() and not sign.isspace() for sign in data):
            self.fail("blank")  # a text of invisible characters only is blank, too
        return data


class SingleLine(Text):
    def __init__(self, **options: Any) -> None:
        super().__init__(validators=[SINGLE_LINE], **options)


class DeliveryId(serializers.UUIDField):
    """As a receipt gives it: DRF's own field would take a number for one."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        return super().to_internal_value(data)


class WholeNumber(serializers.IntegerField):
    """JSON's integers only: neither "60" nor 60.0 nor true."""

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            self.fail("invalid")
        return data


@extend_schema_field({"type": ["object", "string"]})  # drf-spectacular adds the null
class Details(serializers.JSONField):
    """An object, a text or null (spec, "Request fields")."""

    default_error_messages = {"invalid": "Must be an object, a text or null."}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict | str):
            self.fail("invalid")
        return data


class DeliveryPayload(serializers.Serializer[Delivery]):
    """Body of POST /wake/v1/deliver. Lengths are in code points; unknown fields are kept, not
    refused."""

    agent_id = SingleLine(max_length=128)
    provider = SingleLine(max_length=128)
    type = serializers.ChoiceField(choices=["update", "question", "output", "alert"])
    headline = SingleLine(max_length=120)
    summary = SingleLine(max_length=280)
    details = Details(required=False, allow_null=True)
    callback_webhook = SingleLine(required=False, allow_null=True, max_length=2048)
    timeout_seconds = WholeNumber(required=False, allow_null=True, min_value=60, max_value=604_800)
    assumption = Text(required=False, allow_null=True, max_length=2000)
    on_timeout = serializers.ChoiceField(
        required=False, allow_null=True, choices=["proceed", "hold", "abort"]
    )
    thread = SingleLine(required=False, allow_null=True, max_length=128)
    supersedes = DeliveryId(required=False, allow_null=True)

    def for_the_verb(self, body: JsonObject) -> dict[str, Any]:
        """Keywords of deliver(); `details` as the JSON text that was sent, unknown fields as
        `extensions`. Raises ValidationError."""
        given = self.run_validation(body)
        return {
            **{
                name: given[name]
                for name in ("agent_id", "provider", "type", "headline", "summary")
            },
            "details_json": body.text("details"),
            "callback_webhook": given.get("callback_webhook") or "",
            "timeout_seconds": given.get("timeout_seconds"),
            "assumption": given.get("assumption") or "",
            "on_timeout": given.get("on_timeout") or "",
            "thread": given.get("thread") or "",
            "supersedes": given.get("supersedes"),
            "extensions": {name: body[name] for name in body if name not in self.fields},
        }


# Validating keeps no state, and a Serializer of its own for each request would copy every field.
DELIVERY_PAYLOAD = DeliveryPayload()


class Since(serializers.Field[datetime, str, str, Any]):
    """ISO 8601 with `Z`, an offset or none (= UTC); also with the space that an unencoded `+`
    becomes."""

    default_error_messages = {
        "invalid": "Not an ISO 8601 time, for example 2026-03-08T11:55:00Z. Leave it out for all."
    }
    LOST_PLUS = re.compile(r"(.*\d[T ]\d.*) (\d\d(?::?\d\d)?)", re.ASCII)

    def to_internal_value(self, data: str) -> datetime:
        if lost := self.LOST_PLUS.fullmatch(data):
            data = "+".join(lost.groups())
        try:
            since = datetime.fromisoformat(data.upper())
            return (since if since.tzinfo else since.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail("invalid")


class Statuses(serializers.Field[tuple[str, ...], str, str, Any]):
    """A comma list of statuses."""

    default_error_messages = {
        "invalid": "A comma list of pending, approved, rejected, redirected. Leave it out for all."
    }

    def to_internal_value(self, data: str) -> tuple[str, ...]:
        names = tuple(name.strip() for name in data.split(","))
        if not set(names) <= set(Delivery.Status.values):
            self.fail("invalid")
        return names


class QueryNumber(serializers.Field[int, str, str, Any]):
    """Decimal digits within a range; above it clamped where `clamp` says so."""

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


WAIT = QueryNumber(low=1, high=25)
SWEEP: dict[str, serializers.Field[Any, Any, Any, Any]] = {
    "agent_id": serializers.CharField(allow_blank=True, trim_whitespace=False),
    "status": Statuses(),
    "since": Since(),
    "limit": QueryNumber(low=1, high=MOST_ROWS, clamp=True),
}


def wait_seconds(query: QueryDict) -> int:
    """Of a long poll; 0 where none was asked for. Raises ValidationError."""
    return int(_read({"wait": WAIT}, query).get("wait", 0))


def sweep_query(query: QueryDict) -> SweepQuery:
    """Raises ValidationError with every parameter that does not fit."""
    asked = _read(SWEEP, query)
    return SweepQuery(
        limit=asked.get("limit", 50),
        since=asked.get("since"),
        since_text=query.get("since"),
        statuses=asked.get("status", ()),
        agent_id=asked.get("agent_id"),
    )


def _read(fields: Mapping[str, Any], query: QueryDict) -> dict[str, Any]:
    """The parameters that are there. Not a Serializer: it would copy its fields for every poll."""
    found: dict[str, Any] = {}
    problems: dict[str, Any] = {}
    for name, field in fields.items():
        if name not in query:
            continue
        if len(query.getlist(name)) > 1:
            # Of `status=approved&status=rejected` only the last would be read.
            problems[name] = [serializers.ErrorDetail("Must be there once.", "repeated")]
            continue
        try:
            found[name] = field.run_validation(query[name])
        except serializers.ValidationError as error:
            problems[name] = error.detail
    if problems:
        raise serializers.ValidationError(problems)
    return found
