"""Recognises a call that a model repeats because the model believes that the first one was lost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from rest_framework.exceptions import ValidationError

from database.clock import database_now
from database.idempotency import BadIdempotencyKey, Idempotency
from wake import pickups
from wake.api.parsers import JsonObject
from wake.models import Delivery

# The same call within this time returns the same delivery, or the same outcome.
SAME_CALL = timedelta(minutes=10)


def idempotency_of(tool: str, arguments: JsonObject, fields: dict[str, Any]) -> Idempotency | None:
    """Returns the Idempotency that makes an equal call return the same delivery. Without an
    Idempotency-Key of the model, equal calls return the same delivery only for a while, and only
    until the answer is picked up, because one approval is for one action. Two irreversible calls
    are always two deliveries."""
    key = arguments.get("idempotency_key")
    if key is None:
        if fields.get("irreversible"):
            return None
        content = json.dumps([tool, {**fields, "details": exact(arguments)}], sort_keys=True)
        return same_call(content, is_over=_is_over)
    try:
        return Idempotency.of(key if isinstance(key, str) else "", fields)
    except BadIdempotencyKey as reason:
        raise ValidationError({"idempotency_key": [str(reason)]}) from None


def same_call(content: str, *, is_over: Callable[[Any], bool] | None = None) -> Idempotency:
    digest = hashlib.sha256(content.encode()).hexdigest()
    return Idempotency(f"mcp-{digest}", digest, window=SAME_CALL, is_over=is_over)


def exact(arguments: JsonObject) -> Any:
    """Returns the details with each number as it was written. If two calls have amounts that differ
    only in their digits, such as 1180.00 and 1180.0, they are different calls."""
    details = arguments.texts.get("details")
    return details and json.loads(bytes(details), parse_float=lambda digits: {"number": digits})


def _is_over(delivery: Delivery) -> bool:
    """Returns whether an equal call makes a new delivery, even within the time in which equal calls
    are usually one delivery."""
    return bool(pickups.picked_up_before([delivery.pk], at=database_now()))
