"""Offers a question as a task to clients that declare the extension for it (revision 2026-07-28).

The task has the id of the delivery. The task works until a person answers, the deadline passes or
the agent withdraws the delivery. The task never asks for input, because the client would ask the
agent's own user and not the people of the team.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from accounts.models import ApiKey
from database.clock import database_now
from database.uuids import NIL, uuid_or_none
from wake import pickups, wire
from wake.mcp import wording
from wake.mcp.cards import contents
from wake.mcp.proofs import with_digest, with_receipt
from wake.mcp.protocol import INVALID_PARAMS, Json, RequestRefused
from wake.mcp.results import McpResult, McpTask
from wake.models import Delivery
from wake.withdrawals import AnsweredBefore, withdraw_own

METHODS = {"tasks/get", "tasks/update", "tasks/cancel"}
POLL_MS = 5_000
CANCELLED = "The agent canceled its task."


def started(answer: wire.Answer, *, created_at: datetime, is_replayed: bool) -> McpTask:
    """Returns the task of a question that waits for its answer. An equal call returns the same
    task."""
    members = _members(answer, "working", created_at, created_at)
    if is_replayed:
        members["statusMessage"] = f"{wording.EARLIER_REQUEST} {members['statusMessage']}"
    return McpTask(members)


def run(method: str, params: Json, *, key: ApiKey, address: str, takes_cards: bool = False) -> Json:
    """Returns the result of one of METHODS. Raises RequestRefused for an unknown task."""
    text = params.get("taskId")
    task_id = (uuid_or_none(text) if isinstance(text, str) else None) or NIL
    match method:
        case "tasks/get":
            return _get(key, task_id, address, takes_cards=takes_cards)
        case "tasks/cancel":
            _cancel(key, task_id, address)
        case _:  # a task never asks the client for anything
            _facts(key, task_id)
    return {}


def _get(key: ApiKey, task_id: UUID, address: str, *, takes_cards: bool) -> Json:
    created_at, on_timeout = _facts(key, task_id)
    answer = pickups.read(key, task_id, at=database_now())
    if answer is None:
        raise _unknown()
    if isinstance(answer.withdrawn_at, datetime):
        return _members(answer, "cancelled", created_at, answer.withdrawn_at)
    if answer.status == "pending" and not answer.expired:
        return _members(answer, "working", created_at, created_at)
    ended_at = answer.responded_at or answer.expires_at or created_at
    answer = with_receipt(with_digest(answer), key=key, address=address)
    text = wording.answered(answer, plan=wording.plan_of(on_timeout))
    card = contents.of_delivery(task_id, at=database_now()) if takes_cards else None
    result = {"resultType": "complete", **McpResult(answer, text, card).as_json()}
    return {**_members(answer, "completed", created_at, ended_at), "result": result}


def _cancel(key: ApiKey, task_id: UUID, address: str) -> None:
    try:
        row = withdraw_own(key, task_id, reason=CANCELLED, address=address, at=database_now())
    except AnsweredBefore:
        return  # a person's answer counts, and ends the task
    if row is None:
        raise _unknown()


def _facts(key: ApiKey, task_id: UUID) -> tuple[datetime, str]:
    """Returns when the delivery was created, and its `on_timeout`. Raises RequestRefused."""
    mine = Delivery.objects.of_agent(key.agent, key.mode).filter(is_internal=False)
    facts = mine.filter(pk=task_id).values_list("created_at", "on_timeout").first()
    if facts is None:
        raise _unknown()
    return facts


def _members(answer: wire.Answer, status: str, created_at: datetime, updated_at: datetime) -> Json:
    return {
        "taskId": str(answer.delivery_id),
        "status": status,
        "statusMessage": wording.task(answer, status),
        "createdAt": wire.instant(created_at),
        "lastUpdatedAt": wire.instant(updated_at),
        "ttlMs": None,
        "pollIntervalMs": POLL_MS,
    }


def _unknown() -> RequestRefused:
    return RequestRefused(INVALID_PARAMS, "There is no such task.")
