"""Asks people about one call, waits, and returns what the hook prints."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from wake_client.answers import Answer, Receipt
from wake_client.client import WakeClient
from wake_client.errors import AlreadyAnswered, WakeError
from wake_client.hook import calls, verdicts
from wake_client.hook.calls import Call
from wake_client.hook.deferred import Deferred, Question
from wake_client.hook.questions import is_too_long, question
from wake_client.hook.verdicts import Verdict

SHORTEST_DEADLINE, LONGEST_DEADLINE = 60, 604_800
# A person may still take an answer back for some seconds before it is released.
RELEASE_SECONDS = 15.0
NOT_DEFERRED = "The agent could not remember this question, so it does not wait for the answer."
ASSUMPTION = "The agent asks in its terminal, as always. It does nothing without a decision."
WITHDRAWN = "No answer came in time, so the agent asks in its terminal."


@dataclass(frozen=True, slots=True)
class Asking:
    """How one hook asks: for how long, and whether it defers the call instead of waiting."""

    agent: str
    wait: float
    deferred: Deferred | None = None
    now: Callable[[], float] = time.monotonic


def decide(text: str, asking: Asking, make_client: Callable[[], WakeClient]) -> str:
    """Returns the output of the hook, which is empty for an event that is not for people. Raises
    ValueError, OSError or WakeError if there is no decision."""
    call = calls.read(text, agent=asking.agent, deferring=asking.deferred is not None)
    if call is None:
        return ""
    if is_too_long(call):
        return verdicts.output(call, Verdict("deny", verdicts.TOO_LONG))
    with make_client() as client:
        if asking.deferred is not None:
            return verdicts.output(call, _deferred(call, client, asking.deferred))
        return verdicts.output(call, _asked(call, client, asking))


def _asked(call: Call, client: WakeClient, asking: Asking) -> Verdict | None:
    until = asking.now() + asking.wait
    deadline = min(max(int(asking.wait), SHORTEST_DEADLINE), LONGEST_DEADLINE)
    receipt = _deliver(call, client, timeout_seconds=deadline)
    try:
        answer = client.wait(receipt.delivery_id, timeout=max(until - asking.now(), 0))
        if answer.is_answered:
            return verdicts.verdict_of(call, answer)
    except BaseException:
        _withdraw(client, receipt)  # also if the agent stops the hook
        raise
    late = _withdraw(client, receipt)
    return verdicts.verdict_of(call, late) if late else None


def _withdraw(client: WakeClient, receipt: Receipt) -> Answer | None:
    """Takes the question back, because the terminal asks by now. Returns the answer if a person was
    faster."""
    try:
        client.withdraw(receipt.delivery_id, WITHDRAWN)
    except AlreadyAnswered:
        return client.wait(receipt.delivery_id, timeout=RELEASE_SECONDS)
    except WakeError:
        return None
    return None


def _deferred(call: Call, client: WakeClient, deferred: Deferred) -> Verdict:
    """Returns the answer to a call that was asked about before, and else asks and defers."""
    if call.id is None:
        raise ValueError("A call without an id cannot be deferred.")
    asked = deferred.question_of(call.id)
    if asked is None:
        asked = _asked_now(call, call.id, client, deferred)
    if asked.digest != call.digest:
        return Verdict("deny", verdicts.ANOTHER_CALL)
    answer = client.response(asked.delivery_id)
    if not answer.is_answered:
        return verdicts.DEFERRED
    return verdicts.verdict_of_deferred(call, answer)


def _asked_now(call: Call, call_id: str, client: WakeClient, deferred: Deferred) -> Question:
    receipt = _deliver(call, client, timeout_seconds=None)
    asked = Question(receipt.delivery_id, call.digest)
    try:
        deferred.remember(call_id, asked)
    except BaseException:
        with suppress(WakeError):
            client.withdraw(receipt.delivery_id, NOT_DEFERRED)
        raise
    return asked


def _deliver(call: Call, client: WakeClient, *, timeout_seconds: int | None) -> Receipt:
    asked = question(call)
    return client.deliver(
        "question",
        asked.headline,
        asked.summary,
        details=asked.details,
        timeout_seconds=timeout_seconds,
        assumption=ASSUMPTION if timeout_seconds else None,
        on_timeout="hold" if timeout_seconds else None,
        thread=f"{call.agent}-{call.session}"[:128],
        idempotency_key=_key(call),
    )


def _key(call: Call) -> str:
    """Returns the same key for the same call. Without an id of its own each call is a new question:
    an agent that runs a command again needs another permission."""
    id = call.id or str(uuid.uuid4())
    text = "\n".join([call.event, id, call.digest])
    return f"hook-{hashlib.sha256(text.encode()).hexdigest()}"
