"""Asks people about one call, waits, and returns the output of the hook."""

from __future__ import annotations

import hashlib
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from wake_client.answers import Answer, Receipt
from wake_client.client import WakeClient
from wake_client.digest import check_answer
from wake_client.errors import AlreadyAnswered, ContentMismatch, NotClaimed, WakeError
from wake_client.hook import calls, claims, verdicts
from wake_client.hook.approved import REPORTING, Approved, RunningCall
from wake_client.hook.calls import Call
from wake_client.hook.deferred import Deferred, DeferredQuestion
from wake_client.hook.questions import is_too_long, question
from wake_client.hook.verdicts import HookVerdict
from wake_client.visible_text import visible

SHORTEST_DEADLINE, LONGEST_DEADLINE = 60, 604_800
# The server holds an answer for some seconds, in which a person can take it back.
RELEASE_SECONDS = 15.0
NOT_DEFERRED = "The agent could not remember this question, so it does not wait for the answer."
ASSUMPTION = "The agent asks in its terminal, as always. It does nothing without a decision."
NOT_REMEMBERED = "The end of this call will not be reported"
WITHDRAWN = "No answer came in time, so the agent asks in its terminal."


@dataclass(frozen=True, slots=True)
class Asking:
    """Describes how one hook asks. The hook waits for `wait` seconds. With `deferred`, the hook
    defers the call instead. `approved` remembers the allowed calls, so that their outcomes can be
    reported."""

    agent: str
    wait: float
    deferred: Deferred | None = None
    approved: Approved | None = None
    now: Callable[[], float] = time.monotonic


def decide(text: str, asking: Asking, make_client: Callable[[], WakeClient]) -> str:
    """Returns the output of the hook, which is empty for an event that needs no person. Raises
    ValueError, OSError or WakeError if there is no decision."""
    call = calls.read(text, agent=asking.agent, deferring=asking.deferred is not None)
    if call is None:
        return ""
    if is_too_long(call):
        return verdicts.output(call, HookVerdict("deny", verdicts.TOO_LONG))
    with make_client() as client:
        try:
            if asking.deferred is not None:
                return verdicts.output(call, _deferred(call, client, asking, asking.deferred))
            return verdicts.output(call, _asked(call, client, asking))
        except ContentMismatch:
            return verdicts.output(call, verdicts.not_used("digest_mismatch"))


def _asked(call: Call, client: WakeClient, asking: Asking) -> HookVerdict | None:
    until = asking.now() + asking.wait
    deadline = min(max(int(asking.wait), SHORTEST_DEADLINE), LONGEST_DEADLINE)
    receipt = _deliver(call, client, timeout_seconds=deadline)
    try:
        answer: Answer | None = client.wait(
            receipt.delivery_id, timeout=max(until - asking.now(), 0), digest=receipt.digest
        )
    except BaseException:
        _withdraw(client, receipt)  # even if the agent stops the hook
        raise
    if answer is None or not answer.is_answered:
        answer = _withdraw(client, receipt)
    if answer is None:
        return None
    verdict = verdicts.verdict_of(call, answer)
    return verdict and _used(call, verdict, client, asking, receipt.delivery_id, receipt.digest)


def _used(
    call: Call,
    verdict: HookVerdict,
    client: WakeClient,
    asking: Asking,
    delivery_id: str,
    digest: str | None,
) -> HookVerdict:
    """Claims the approval before the call is allowed. Returns a denial if the approval cannot be
    claimed. A server that sent no digest has no claims, so the verdict then stays unchanged."""
    if verdict.behavior != "allow" or digest is None:
        return verdict
    try:
        client.claim(delivery_id, digest=digest)
    except NotClaimed as refusal:
        return verdicts.not_used(refusal.code, refusal.delivery_status)
    if asking.approved is not None and call.agent in REPORTING:
        _remember(call, verdict, asking.approved, delivery_id)
    return verdict


def _remember(call: Call, verdict: HookVerdict, approved: Approved, delivery_id: str) -> None:
    """Stores the call, with the arguments that a person allowed. If the file cannot be written, the
    call still runs, and stderr says why there will be no report."""
    arguments = call.arguments if verdict.arguments is None else verdict.arguments
    running = RunningCall(call.agent, call.session, call.tool, arguments, call.id)
    try:
        approved.remember(running, delivery_id)
    except (OSError, ValueError) as reason:
        sys.stderr.write(f"wake hook: {visible(f'{NOT_REMEMBERED}: {reason}')}\n")


def _withdraw(client: WakeClient, receipt: Receipt) -> Answer | None:
    """Withdraws the question, because the terminal now asks. Returns the answer if a person
    answered before the withdrawal."""
    try:
        client.withdraw(receipt.delivery_id, WITHDRAWN)
    except AlreadyAnswered:
        return client.wait(receipt.delivery_id, timeout=RELEASE_SECONDS, digest=receipt.digest)
    except WakeError:
        return None
    return None


def _deferred(call: Call, client: WakeClient, asking: Asking, deferred: Deferred) -> HookVerdict:
    """Asks people about the call, unless they were asked before. If the server has claims, a
    question without a digest does not count as asked. Returns the verdict of the answer, or defers
    the call if there is no answer yet."""
    if call.id is None:
        raise ValueError("A call without an id cannot be deferred.")
    asked = deferred.question_of(call.id)
    if asked is None or (asked.content_digest is None and claims.has_claims(client)):
        # An approval of content without a digest cannot be claimed, so the approval could be used
        # again and again.
        asked = _asked_now(call, call.id, client, deferred)
    if asked.digest != call.digest:
        return HookVerdict("deny", verdicts.ANOTHER_CALL)
    answer = check_answer(client.response(asked.delivery_id), asked.content_digest)
    if answer.is_withdrawn:  # no answer comes, so people are asked again
        _asked_now(call, call.id, client, deferred)
    if not answer.is_answered:
        return verdicts.DEFERRED
    verdict = verdicts.verdict_of_deferred(call, answer)
    return _used(call, verdict, client, asking, asked.delivery_id, asked.content_digest)


def _asked_now(
    call: Call, call_id: str, client: WakeClient, deferred: Deferred
) -> DeferredQuestion:
    receipt = _deliver(call, client, timeout_seconds=None)
    asked = DeferredQuestion(receipt.delivery_id, call.digest, receipt.digest)
    try:
        deferred.remember(call_id, asked)
    except BaseException:
        with suppress(WakeError):
            client.withdraw(receipt.delivery_id, NOT_DEFERRED)
        raise
    return asked


def _deliver(call: Call, client: WakeClient, *, timeout_seconds: int | None) -> Receipt:
    asked, has_claims = question(call), claims.has_claims(client)
    return client.deliver(
        "question",
        asked.headline,
        asked.summary,
        details=asked.details,
        timeout_seconds=timeout_seconds,
        assumption=ASSUMPTION if timeout_seconds else None,
        on_timeout="hold" if timeout_seconds else None,
        thread=f"{call.agent}-{call.session}"[:128],
        digest=True if has_claims else None,
        idempotency_key=_key(call, has_claims=has_claims),
    )


def _key(call: Call, *, has_claims: bool) -> str:
    """Returns the Idempotency-Key of a call: the same one for the same call. A call without an id
    always gets a new key, because an agent needs another permission to run a command again. A
    question that asks for a digest is a different request, so it has a different key."""
    id = call.id or str(uuid.uuid4())
    text = "\n".join([call.event, id, call.digest, *(["digest"] if has_claims else [])])
    return f"hook-{hashlib.sha256(text.encode()).hexdigest()}"
