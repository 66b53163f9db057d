"""Defines the six tools. Each tool calls one verb of WAKE v1, and none decides for a person."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
from django.http import Http404, QueryDict
from rest_framework.exceptions import ErrorDetail, ValidationError

from accounts.agents import keys
from accounts.models import ApiKey
from database.clock import database_now
from database.uuids import NIL, uuid_or_none
from wake import pickups, wire
from wake.api import log_context
from wake.api.long_poll import long_poll
from wake.api.parsers import JsonObject
from wake.api.serializers import DELIVERY_PAYLOAD, WITHDRAWAL_PAYLOAD, sweep_parameters
from wake.api.views import receipt_of
from wake.deliveries import deliver
from wake.mcp import tasks, using, wording
from wake.mcp.cards import contents, resources
from wake.mcp.choices import with_choices
from wake.mcp.proofs import with_digest, with_digests, with_receipt
from wake.mcp.protocol import Json
from wake.mcp.results import McpResult, McpTask
from wake.mcp.same_calls import idempotency_of
from wake.mcp.schemas import inputs, outputs
from wake.models import Delivery
from wake.withdrawals import withdraw_own

ENCODER = msgspec.json.Encoder(decimal_format="number")
FOR_PROGRAMS = "idempotency_key"
ABOUT_THE_CALL = {FOR_PROGRAMS, "wait_seconds"}
ANSWERED = ("approved", "rejected", "redirected")


@dataclass(frozen=True, slots=True)
class Caller:
    key: ApiKey
    client_name: str
    address: str
    takes_tasks: bool = False
    takes_cards: bool = False

    def card_of(self, answer: wire.Answer) -> Json | None:
        """Returns what the client's card shows of an answer, or None if it shows no cards."""
        if not self.takes_cards:
            return None
        return contents.of_delivery(answer.delivery_id, at=database_now())


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    title: str
    description: str
    takes: dict[str, Any]
    returns: dict[str, Any]
    call: Callable[[Caller, JsonObject], McpResult | McpTask]
    # Arguments that models need not know (docs/decisions/0079-tools-are-short.md).
    also_takes: frozenset[str] = frozenset()
    has_card: bool = False

    def listed(self, *, with_cards: bool = False) -> dict[str, Any]:
        listed = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.takes,
            "outputSchema": self.returns,
            "annotations": {
                # There is no readOnlyHint, because reading an answer marks it as picked up.
                "destructiveHint": False,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }
        if not with_cards:
            return listed
        return {**listed, "_meta": resources.of_tool(has_card=self.has_card)}


def run(tool: Tool, caller: Caller, arguments: JsonObject) -> McpResult | McpTask:
    """Calls the tool. Raises what its verb raises, and ValidationError for an unknown argument."""
    known = tool.takes["properties"]
    unknown = [name for name in arguments if name not in known and name not in tool.also_takes]
    if unknown:
        problem = ErrorDetail(f"{tool.name} takes {', '.join(known)}.", "unknown")
        raise ValidationError({name[:80]: [problem] for name in unknown[:5]})
    return tool.call(caller, arguments)


def _deliver(caller: Caller, arguments: JsonObject) -> McpResult:
    receipt, is_replayed = _store(caller, "deliver", arguments)
    text = wording.delivered(
        receipt, is_irreversible=_is_irreversible(arguments), is_replayed=is_replayed
    )
    return McpResult(receipt, text)


def _ask(caller: Caller, arguments: JsonObject) -> McpResult | McpTask:
    # If a model says how long to wait, it wants to go on with other work afterwards.
    is_task = caller.takes_tasks and arguments.get("wait_seconds") is None
    seconds = 0 if is_task else _seconds(arguments, usual=inputs.USUAL_WAIT)
    members = {"type": "question", **arguments}
    texts = dict(arguments.texts)
    options, choices = members.pop("options", None), members.pop("choices", None)
    if options is not None or choices is not None:
        members["details"] = with_choices(_with_digits(arguments), options, choices)
        texts["details"] = msgspec.Raw(ENCODER.encode(members["details"]))
    receipt, is_replayed = _store(caller, "ask", JsonObject(members, texts))
    answer = _wait_for(caller.key, receipt.delivery_id, seconds)
    if is_task and not answer.is_settled and not answer.expired:
        return tasks.started(answer, created_at=receipt.created_at, is_replayed=is_replayed)
    plan = wording.plan(
        receipt,
        assumption=arguments.get("assumption") or "",
        is_irreversible=_is_irreversible(arguments),
    )
    answer = with_receipt(with_digest(answer), key=caller.key, address=caller.address)
    text = wording.answered(answer, plan=plan, is_replayed=is_replayed)
    return McpResult(answer, text, caller.card_of(answer))


def _check(caller: Caller, arguments: JsonObject) -> McpResult:
    digest, wants_receipt = using.digest_of(arguments), _wants_receipt(arguments)
    seconds, called_at = _seconds(arguments, usual=0), database_now()
    me: Any = {"key": caller.key, "address": caller.address}
    answer = with_digest(_wait_for(caller.key, _delivery_id(arguments), seconds))
    is_claimed = digest is not None and answer.status in using.USABLE
    if digest and is_claimed:
        answer = using.claimed(answer, digest, **me)
    is_read = not is_claimed and answer.delivery_id in _read_before([answer], called_at)
    answer = with_receipt(answer, is_wanted=wants_receipt, **me)
    text = wording.answered(answer, plan=_plan_of(answer), is_read=is_read, is_claimed=is_claimed)
    return McpResult(answer, text, caller.card_of(answer))


def _read_before(answers: Iterable[wire.Answer], called_at: datetime) -> set[UUID]:
    """Returns the deliveries whose answer the agent already had before this call."""
    ids = [answer.delivery_id for answer in answers if answer.status != "pending"]
    return pickups.picked_up_before(ids, at=called_at) if ids else set()


def _plan_of(answer: wire.Answer) -> str:
    """Returns the plan, but only looks it up for a delivery that still waits and has a deadline."""
    if answer.status != "pending" or answer.expires_at is None:
        return ""
    plans = Delivery.objects.filter(pk=answer.delivery_id).values_list("on_timeout", flat=True)
    return wording.plan_of(plans.first() or "")


def _answers(caller: Caller, arguments: JsonObject) -> McpResult:
    parameters = QueryDict(mutable=True)
    for name in ("since", "limit"):
        if arguments.get(name) is not None:
            parameters[name] = str(arguments[name])
    values = sweep_parameters(parameters)
    query = pickups.SweepQuery(
        limit=values.get("limit", 50),
        since=values.get("since"),
        since_text=parameters.get("since"),
        statuses=ANSWERED,
    )
    called_at = database_now()
    sweep = pickups.sweep(caller.key, query, at=called_at)
    sweep.deliveries = with_digests(sweep.deliveries)
    read = _read_before(sweep.deliveries, called_at)
    return McpResult(sweep, wording.swept(sweep, since=query.since_text, read=read))


def _withdraw(caller: Caller, arguments: JsonObject) -> McpResult:
    reason = WITHDRAWAL_PAYLOAD.read({"reason": arguments.get("reason")})
    row = withdraw_own(
        caller.key,
        _delivery_id(arguments),
        reason=reason,
        address=caller.address,
        at=database_now(),
    )
    if row is None or row.withdrawn_at is None:
        raise Http404
    withdrawal = wire.Withdrawal(
        row.pk, "withdrawn", row.withdrawn_at, row.withdrawn_reason or None
    )
    return McpResult(withdrawal, wording.withdrawn(withdrawal))


def _report(caller: Caller, arguments: JsonObject) -> McpResult:
    delivery_id = _delivery_id(arguments)
    return using.reported(delivery_id, arguments, key=caller.key, address=caller.address)


def _store(caller: Caller, tool: str, arguments: JsonObject) -> tuple[wire.Receipt, bool]:
    """Stores a delivery with the arguments, except the arguments about the call itself. Also
    returns whether an earlier call has stored it."""
    fields = {name: value for name, value in arguments.items() if name not in ABOUT_THE_CALL}
    fields |= {"agent_id": caller.key.agent.agent_id, "provider": caller.client_name}
    delivered = deliver(
        caller.key.agent,
        key=caller.key,
        idempotency=idempotency_of(tool, arguments, fields),
        address=caller.address,
        traceparent=log_context.current().traceparent,
        at=database_now(),
        # The digest is not part of the call. So this call equals a call of an earlier version, in
        # which the tools asked for no digest.
        **DELIVERY_PAYLOAD.read(JsonObject({**fields, "digest": True}, arguments.texts)),
    )
    receipt = receipt_of(delivered)
    log_context.current().delivery_id = receipt.delivery_id
    return receipt, delivered.replayed


def _is_irreversible(arguments: JsonObject) -> bool:
    return arguments.get("irreversible") is True


def _with_digits(arguments: JsonObject) -> Any:
    """Returns the details with each number as it was sent, so that people see 1180.00 and not
    1180.0."""
    details = arguments.text("details")
    return details and json.loads(details, parse_float=Decimal)


def _wait_for(key: ApiKey, delivery_id: UUID, seconds: int) -> wire.Answer:
    """Waits for the answer. Raises Http404, or KeyEnded if the key is revoked meanwhile."""
    answer = long_poll(
        lambda: pickups.read(key, delivery_id, at=database_now()),
        seconds=seconds,
        until=lambda answer: answer is None or answer.is_settled or answer.expired,
    )
    if seconds:
        keys.check_again(key, at=database_now())
    if answer is None:
        raise Http404
    return answer


def _seconds(arguments: JsonObject, *, usual: int) -> int:
    seconds = arguments.get("wait_seconds")
    if seconds is None:
        return usual
    if type(seconds) is not int or not 0 <= seconds <= inputs.LONGEST_WAIT:
        problem = f"Must be a whole number from 0 to {inputs.LONGEST_WAIT}."
        raise ValidationError({"wait_seconds": [problem]})
    return seconds


def _wants_receipt(arguments: JsonObject) -> bool:
    receipt = arguments.get("receipt")
    if not isinstance(receipt, bool | None):
        raise ValidationError({"receipt": ["Must be true or false."]})
    return receipt is True


def _delivery_id(arguments: JsonObject) -> UUID:
    """Reads a delivery's id. Text that is no UUID becomes the nil UUID, which finds nothing."""
    text = arguments.get("delivery_id")
    if text is None:
        raise ValidationError({"delivery_id": [ErrorDetail("This field is required.", "required")]})
    return (uuid_or_none(text) if isinstance(text, str) else None) or NIL


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "deliver",
            "Deliver to people",
            "Shows people a result, an update or an alert, and returns at once. One event, one "
            "delivery. For a decision, use ask.",
            inputs.takes(
                ["type", "headline", "summary"],
                type=inputs.TYPE,
                headline=inputs.HEADLINE,
                summary=inputs.SUMMARY,
                details=inputs.DETAILS,
                thread=inputs.THREAD,
                supersedes=inputs.SUPERSEDES,
                priority=inputs.PRIORITY,
                receipt=inputs.RECEIPT,
            ),
            outputs.RECEIPT,
            _deliver,
            frozenset({"timeout_seconds", "assumption", "quorum", "irreversible", FOR_PROGRAMS}),
        ),
        Tool(
            "ask",
            "Ask people",
            "Asks people for a decision and waits a moment. If it returns `pending`, go on with "
            "other work and call check later.",
            inputs.takes(
                ["headline", "summary"],
                headline=inputs.HEADLINE,
                summary=inputs.SUMMARY,
                details=inputs.DETAILS_OF_A_QUESTION,
                options=inputs.OPTIONS,
                timeout_seconds=inputs.TIMEOUT,
                assumption=inputs.ASSUMPTION,
                wait_seconds=inputs.wait(inputs.USUAL_WAIT),
                thread=inputs.THREAD,
                supersedes=inputs.SUPERSEDES,
                priority=inputs.PRIORITY,
                quorum=inputs.QUORUM,
                irreversible=inputs.IRREVERSIBLE,
                receipt=inputs.RECEIPT,
            ),
            outputs.ANSWER,
            _ask,
            frozenset({"choices", FOR_PROGRAMS}),
            has_card=True,
        ),
        Tool(
            "check",
            "Check for an answer",
            "Returns the answer to one delivery, or that there is none yet. With claim, it uses "
            "the approval.",
            inputs.takes(
                ["delivery_id"],
                delivery_id=inputs.DELIVERY_ID,
                wait_seconds=inputs.wait(0),
                claim=inputs.CLAIM,
                receipt=inputs.RECEIPT,
            ),
            outputs.CHECKED_ANSWER,
            _check,
            has_card=True,
        ),
        Tool(
            "answers",
            "List answers",
            "Returns people's answers to all your deliveries, oldest first, also of earlier "
            "sessions. Call it at the start of each session.",
            inputs.takes([], since=inputs.SINCE, limit=inputs.LIMIT),
            outputs.SWEEP,
            _answers,
        ),
        Tool(
            "withdraw",
            "Withdraw a delivery",
            "Takes a delivery out of the inbox that needs no answer any more.",
            inputs.takes(["delivery_id"], delivery_id=inputs.DELIVERY_ID, reason=inputs.REASON),
            outputs.WITHDRAWAL,
            _withdraw,
        ),
        Tool(
            "report",
            "Report what came of it",
            "Tells people what came of a delivery: whether you did it, whether it worked, or why "
            "not. Call it once, when you know; a delivery takes 20 reports.",
            inputs.takes(
                ["delivery_id", "status"],
                delivery_id=inputs.DELIVERY_ID,
                status=inputs.OUTCOME_STATUS,
                summary=inputs.OUTCOME_SUMMARY,
                details=inputs.OUTCOME_DETAILS,
            ),
            outputs.OUTCOME,
            _report,
        ),
    )
}
