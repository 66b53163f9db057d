"""Turns exceptions into responses. Only this module knows the status code of each
(docs/protocol.md, Errors)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpResponse
from rest_framework import exceptions

from accounts.access.moves import TeamMoved, TeamMoving, refuse_moved_key
from accounts.agents.quota import AgentPaused, Allowance, KeyEnded, QuotaSpent
from accounts.limits.throttles import TooManyRequests
from database import outages
from database.clock import database_now
from database.encryption import Unreadable
from database.idempotency import IdempotencyConflict
from wake import wire
from wake.api import log_context
from wake.api.parsers import BodyTooLarge, Malformed
from wake.batches import BatchTooLarge, NotTogether
from wake.blobs.pictures import NotShowable, TooManyPictures
from wake.blobs.uploads import MediaTypeRefused, StorageFull
from wake.callbacks.allowlist import AddressRefused
from wake.claims import (
    AlreadyClaimed,
    ApprovalExpired,
    DigestMismatch,
    NoAnswerYet,
    NoProofYet,
    NotApproved,
)
from wake.deliveries import AgentMismatch, UnknownRevision
from wake.outcomes import DeliveryErased, TooManyOutcomes
from wake.proof.log_proofs import DamagedLog
from wake.withdrawals import AnsweredBefore

logger = logging.getLogger(__name__)

RETRY_OUTAGE_AFTER = 2
RETRY_UNREADABLE_AFTER = 60
RETRY_MOVING_AFTER = 60
MOVED_TO = "Wake-Moved-To"  # for routers (docs/cells.md)
# DRF's codes for a missing field. A missing field gives a 400, and every other problem of a field
# gives a 422.
ABSENT = {"required", "null"}

FACTS: dict[type[Exception], tuple[int, str]] = {
    Malformed: (400, "malformed"),
    exceptions.ParseError: (400, "malformed"),
    exceptions.NotAuthenticated: (401, "unauthorized"),
    exceptions.AuthenticationFailed: (401, "unauthorized"),
    KeyEnded: (401, "unauthorized"),
    AgentMismatch: (403, "agent_mismatch"),
    AgentPaused: (403, "paused"),
    exceptions.PermissionDenied: (403, "forbidden"),
    exceptions.NotFound: (404, "not_found"),
    Http404: (404, "not_found"),
    exceptions.MethodNotAllowed: (405, "method_not_allowed"),
    AnsweredBefore: (409, "already_answered"),
    DigestMismatch: (409, "digest_mismatch"),
    DeliveryErased: (409, "erased"),
    NoAnswerYet: (409, "no_answer"),
    NoProofYet: (409, "no_proof"),
    DamagedLog: (409, "log_damaged"),
    TooManyOutcomes: (409, "too_many_outcomes"),
    BodyTooLarge: (413, "body_too_large"),
    StorageFull: (413, "storage_full"),
    MediaTypeRefused: (415, "unsupported_media_type"),
    TeamMoved: (421, "team_moved"),
    IdempotencyConflict: (422, "idempotency_conflict"),
    TooManyRequests: (429, "rate_limited"),
    QuotaSpent: (429, "rate_limited"),
    TeamMoving: (503, "team_moving"),
    Unreadable: (503, "unreadable"),
}
MESSAGES = {
    "unauthorized": (
        "A valid key is needed: send it as 'Authorization: Bearer wk_live_...'. "
        "If yours stopped working, ask the person who issued it for a new one."
    ),
    "agent_mismatch": (
        "This key belongs to another agent than agent_id says. Nothing was stored. Deliver under "
        "the id that the key was issued for, or ask for that id to be granted to this agent."
    ),
    "not_found": "There is nothing here for this key.",
    "method_not_allowed": "This method is not for this path; see GET /wake/v1/openapi.json.",
    "already_answered": (
        "A person has answered this delivery, so it was not withdrawn. Read the answer with "
        "GET /wake/v1/response/ and its id; it may take some seconds until it is there."
    ),
    "already_claimed": (
        "This approval was used before, at the time in claimed_at, and counts once. Ask again if "
        "the action has to be done again."
    ),
    "not_approved": (
        "Nothing is approved here, so nothing was used; status says how the delivery was answered. "
        "Do not act. If it is pending, wait for the answer, then claim again. If the agent has "
        "withdrawn it, no answer will come. If it is superseded, people decided about a newer "
        "version instead: claim that one if it is approved."
    ),
    "digest_mismatch": (
        "The digest is not that of the content that was approved. Nothing was used. Do not act, "
        "and ask again with what you mean to do."
    ),
    "approval_expired": (
        "This approval was not used within claim_within_seconds, so it no longer counts. Ask again."
    ),
    "no_answer": (
        "The answer to this delivery is not there yet, so it has no receipt. Wait for the answer "
        "with GET /wake/v1/response/ and its id. If the agent has withdrawn it, no answer will "
        "come. A gate gets the receipt of an approval only."
    ),
    "no_proof": (
        "The receipt is made, and the log has no checkpoint with it yet. Ask again with proof=1 in "
        "about an hour, or now without it for the receipt alone."
    ),
    "log_damaged": (
        "The receipt is made, but a part of the server's log is damaged, so there is no proof. "
        "Tell the person who runs the server. Ask without proof=1 for the receipt alone."
    ),
    "erased": "The content of this delivery was erased, so it takes no outcome.",
    "too_many_outcomes": "A delivery has at most 20 outcomes. Nothing was stored.",
    "body_too_large": (
        "The body is larger than this server takes. Nothing was stored. Send a link instead, such "
        "as one in the details of a delivery."
    ),
    "batch_too_large": (
        "The batch has {new} new deliveries, and this key may deliver at most {burst} at once. "
        "Nothing was stored, and a retry cannot succeed. Send smaller batches, or one without "
        "atomic."
    ),
    "body_too_slow": (
        "The body took too long to arrive. Nothing was stored. Send it again over a better line."
    ),
    "paused": (
        "A person has paused or archived this agent. Nothing was stored, and a retry succeeds "
        "only after a person resumes or restores the agent. Answers can still be read."
    ),
    "rate_limited": (
        "Too many requests for now. Nothing was stored. Wait as many seconds as Retry-After says."
    ),
    "own_limit": (
        "Too many requests for now: this agent has a limit of its own, {limit} an hour for each of "
        "its keys. Nothing was stored. Wait as many seconds as Retry-After says; an owner of the "
        "agent's team can change the limit on its page."
    ),
    # The connection may break while the database commits.
    "unavailable": (
        "The database is not available for the moment; try again. A request without an "
        "Idempotency-Key may then be stored twice."
    ),
    "busy": "The server is busy for the moment. Nothing was stored; try again.",
    "unreadable": (
        "An answer cannot be read: the server lacks the encryption key that it was stored with. "
        "Nothing is lost yet. Tell the person who runs the server, and try again later."
    ),
    "https_required": "Use https: a key that travels over plain http must be taken for stolen.",
    "server_error": (
        "Something on our side failed, and we logged it; try again later. A request without an "
        "Idempotency-Key may then be stored twice."
    ),
}


def answer_exception(
    exception: Exception,
    context: Mapping[str, Any],
    *,
    nothing_yet: Mapping[str, Any],
    key_text: str = "",
) -> HttpResponse | None:
    """Handles exceptions for DRF. Returns None for an unexpected exception, which becomes a 500
    (`server_error`).

    A 429 and a 503 also have the members of `nothing_yet`. Clients that poll read these members
    without looking at the status code, and must survive an outage. `key_text` is the key of the
    request. If it ended because its team moves, the response says so.
    """
    if isinstance(exception, KeyEnded):
        exception = _reason_of_end(exception, key_text)
    status, body = _body(exception)
    if status is None:
        return None
    _log_failure(exception)
    may_be_polling = status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
    extra = nothing_yet if may_be_polling else {}
    return error_response(status, body, extra, headers=_headers(exception))


def _reason_of_end(ended: KeyEnded, key_text: str) -> Exception:
    try:
        refuse_moved_key(key_text)
    except (TeamMoving, TeamMoved) as reason:
        return reason
    return ended


@dataclass(frozen=True, slots=True)
class ItemError:
    """Describes the error of one delivery of a batch, or of a tool. The error has the same status
    code and Retry-After as a response to this one delivery would have."""

    status: int
    error: wire.Error
    retry_after: int | None


def refusal_of(exception: Exception) -> ItemError:
    _log_failure(exception)
    status, error = _body(exception)
    retry_after = _headers(exception).get("Retry-After")
    return ItemError(status or 500, error, int(retry_after) if retry_after else None)


def error_response(
    status: int,
    body: wire.Error,
    extra: Mapping[str, Any] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    body.request_id = log_context.clients_request_id() or None
    content = wire.encode({"error": body, **(extra or {})})
    response = HttpResponse(
        content, status=status, content_type="application/json", headers=headers
    )
    response["Cache-Control"] = "no-store"
    return response


def answer(exception: Exception) -> HttpResponse:
    """Answers one of the expected exceptions, outside of DRF."""
    status, body = _body(exception)
    return error_response(status or 500, body, headers=_headers(exception))


def rate_headers(allowance: Allowance) -> dict[str, str]:
    """Returns the key's remaining quota, and the Unix time at which it is full again."""
    return {
        "X-RateLimit-Limit": str(allowance.limit),
        "X-RateLimit-Remaining": str(allowance.remaining),
        "X-RateLimit-Reset": str(int(database_now().timestamp()) + allowance.full_in),
    }


def unavailable(failure: BaseException | None) -> str:
    """Returns the message for a request that failed in the database, and that the client can
    repeat."""
    return MESSAGES["unavailable" if outages.is_away(failure) else "busy"]


def plain_error(status: int, code: str, message: str | None = None) -> HttpResponse:
    return error_response(status, wire.Error(code, message or MESSAGES[code]))


def _log_failure(exception: Exception) -> None:
    if outages.will_pass(exception):
        logger.warning("The database failed: %s", exception)
        outages.forget_dead(exception)
    if isinstance(exception, Unreadable):
        logger.error("Content cannot be read: WAKE_ENCRYPTION_KEYS lacks the key of a row")


def _body(exception: Exception) -> tuple[int | None, wire.Error]:
    if isinstance(exception, exceptions.ValidationError):
        problems = list(_problems(exception.get_full_details()))
        absent = any(problem.code in ABSENT for problem in problems)
        message = " ".join(f"{problem.field}: {problem.message}" for problem in problems)
        if absent:
            return 400, wire.Error("missing_field", message, problems)
        return 422, wire.Error("invalid_field", message, problems)
    if isinstance(exception, NotTogether):
        return _of_one(exception)
    if isinstance(exception, AlreadyClaimed):
        code, claimed_at = "already_claimed", exception.claim.claimed_at
        return 409, wire.Error(code, MESSAGES[code], claimed_at=claimed_at)
    if isinstance(exception, NotApproved):
        status: Any = exception.status
        return 409, wire.Error("not_approved", MESSAGES["not_approved"], status=status)
    if isinstance(exception, ApprovalExpired):
        code, ends_at = "approval_expired", exception.claimable_until
        return 409, wire.Error(code, MESSAGES[code], claimable_until=ends_at)
    if isinstance(exception, AddressRefused):
        problem = wire.Problem("callback_webhook", exception.code, str(exception))
        return 422, wire.Error("invalid_field", f"callback_webhook: {exception}", [problem])
    if isinstance(exception, UnknownRevision):
        problem = wire.Problem("supersedes", "unknown", str(exception))
        return 422, wire.Error("invalid_field", f"supersedes: {exception}", [problem])
    if isinstance(exception, NotShowable):
        message = f"This is not a picture that people can be shown: {exception} Nothing was stored."
        return 422, wire.Error("invalid_image", message)
    if isinstance(exception, TooManyPictures):
        return 503, wire.Error("unavailable", MESSAGES["busy"])
    if isinstance(exception, QuotaSpent) and exception.own_limit:
        message = MESSAGES["own_limit"].format(limit=exception.own_limit)
        return 429, wire.Error("rate_limited", message)
    if isinstance(exception, BatchTooLarge):
        message = MESSAGES["batch_too_large"].format(new=exception.new, burst=exception.burst)
        return 422, wire.Error("batch_too_large", message)
    if outages.will_pass(exception):
        return 503, wire.Error("unavailable", unavailable(exception))
    for fact, (status, code) in FACTS.items():
        if isinstance(exception, fact):
            return status, wire.Error(code, MESSAGES.get(code) or str(exception))
    return None, wire.Error("server_error", MESSAGES["server_error"])


def _of_one(exception: NotTogether) -> tuple[int | None, wire.Error]:
    """Returns the place and the error of the refused delivery in the batch."""
    status, error = _body(exception.reason)
    at = f"deliveries[{exception.place}]"
    problems = [
        wire.Problem(f"{at}.{problem.field}", problem.code, problem.message)
        for problem in error.fields
    ]
    return status, wire.Error(error.code, f"{at}: {error.message}", problems)


def _problems(details: Any) -> Iterator[wire.Problem]:
    for field, problems in details.items():
        for problem in problems:
            yield wire.Problem(field, problem["code"], str(problem["message"]))


def _headers(exception: Exception) -> dict[str, str]:
    match exception:
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed() | KeyEnded():
            return {"WWW-Authenticate": "Bearer"}
        case NotTogether():
            return _headers(exception.reason)
        case QuotaSpent():
            return {
                **rate_headers(exception.allowance),
                "Retry-After": str(exception.allowance.retry_after),
            }
        case TooManyRequests():
            return {"Retry-After": str(exception.retry_after)}
        case Unreadable():
            return {"Retry-After": str(RETRY_UNREADABLE_AFTER)}
        case TeamMoving():
            return {"Retry-After": str(RETRY_MOVING_AFTER)}
        case TeamMoved():
            return {MOVED_TO: exception.server}
        case TooManyPictures():
            return {"Retry-After": str(RETRY_OUTAGE_AFTER)}
        case _ if outages.will_pass(exception):
            return {"Retry-After": str(RETRY_OUTAGE_AFTER)}
    return {}
