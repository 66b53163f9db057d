"""Uses an approval for a model, and stores the outcome that the model reports."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import msgspec
from django.http import Http404
from rest_framework.exceptions import ValidationError

from accounts.models import ApiKey
from database.clock import database_now
from wake import claims, outcomes, wire
from wake.api.parsers import JsonObject
from wake.api.serializers import CLAIM_PAYLOAD, OUTCOME_PAYLOAD
from wake.mcp import wording
from wake.mcp.results import CheckedAnswer, McpResult
from wake.mcp.same_calls import exact, same_call
from wake.models import Outcome

USABLE = {"approved", "redirected"}


def digest_of(arguments: JsonObject) -> str | None:
    """Returns the digest in the argument `claim`, or None if the model does not claim. Raises
    ValidationError."""
    if arguments.get("claim") is None:
        return None
    try:
        return CLAIM_PAYLOAD.read({"digest": arguments["claim"]})
    except ValidationError:
        problem = "Must be the digest that ask or deliver returned: 64 characters of 0-9 and a-f."
        raise ValidationError({"claim": [problem]}) from None


def claimed(answer: wire.Answer, digest: str, *, key: ApiKey, address: str) -> CheckedAnswer:
    """Uses the approval. A refused claim is an error of the tool. Otherwise a model or a program
    could read the status `approved`, and go on."""
    claimant = claims.Claimant(key=key, address=address)
    made = claims.claim(claimant, answer.delivery_id, digest=digest, at=database_now())
    if made is None:
        raise Http404
    claim, _ = made
    return CheckedAnswer(**msgspec.structs.asdict(answer), claim=claims.confirmation_of(claim))


def reported(delivery_id: UUID, arguments: JsonObject, *, key: ApiKey, address: str) -> McpResult:
    """Stores an outcome. If the model repeats the call while this outcome is the newest one, the
    outcome is stored only once."""
    fields = {name: value for name, value in arguments.items() if name != "delivery_id"}
    content = json.dumps(["report", {**arguments, "details": exact(arguments)}], sort_keys=True)
    stored = outcomes.report(
        key,
        delivery_id,
        **OUTCOME_PAYLOAD.read(JsonObject(fields, arguments.texts)),
        idempotency=same_call(content, is_over=_has_newer),
        address=address,
        at=database_now(),
    )
    if stored is None:
        raise Http404
    outcome, is_replayed = stored
    status: Any = outcome.status
    receipt = wire.OutcomeReceipt(outcome.delivery_id, status, outcome.reported_at)
    return McpResult(receipt, wording.reported(is_replayed=is_replayed))


def _has_newer(outcome: Outcome) -> bool:
    """Returns whether another outcome was reported since. In that case an equal report is news: an
    action that failed, succeeded and failed again has failed."""
    others = Outcome.objects.filter(delivery=outcome.delivery_id)
    return others.filter(reported_at__gt=outcome.reported_at).exists()
