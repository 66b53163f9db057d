"""Writes results as text, because models read the text and not the fields."""

from __future__ import annotations

import json
from datetime import datetime
from uuid import UUID

from msgspec import UNSET

from pages.characters.invisible import reveal
from wake import wire
from wake.mcp.results import ToolAnswer

INSTRUCTIONS = """\
Wake shows your work to people and brings back their decisions. People answer when it suits them.

- Begin each session with `answers`: it has answers to what earlier sessions asked.
- `deliver` what people should see: one event, one delivery.
- `ask` before you do what cannot be undone, costs money or reaches other people. If it returns \
`pending`, go on with other work and `check` later. Say in `assumption` what you will do without \
an answer, and in `timeout_seconds` by when.
- Obey the status. approved: do it as delivered. redirected: do it as feedback and edited_content \
say. rejected: do not do it. pending: no decision yet; never take it for a yes.
- Just before you do it, call `check` with `claim`, the digest that `ask` returned. It uses the \
approval, which counts once: if the call fails, do not do it. Then `report` what came of it.
- `withdraw` what needs no answer any more.
"""
MUST_WAIT = (
    "A rule of the team says that you wait for the answer, also after the deadline: do not go on "
    "without it."
)
WAITS = "You wait for the answer, also after the deadline: do not go on without it."
CANNOT_BE_UNDONE = (
    "This cannot be undone, so you wait for the answer, also after the deadline: do not go on "
    "without it."
)
EARLIER_REQUEST = "This is your earlier request; people are not asked twice."
EARLIER_REPORT = "You have reported this before; people see it once."
EARLIER_ANSWER = "This is the answer to your earlier request."
READ_BEFORE = "You have read this answer before."
ONCE = "It is one decision, for one action: if you have done it, do not do it again."
CLAIMED = (
    "This call has used the approval, and no other call can. Do it now, once, then call report."
)
MEANINGS = {
    "approved": "A person approved it. Go on as you delivered it.",
    "rejected": "A person rejected it. Do not do it.",
    "redirected": "A person changed it. Do it as feedback and edited_content say, not as before.",
}

BY_RULE = "A rule of the team approved it. Go on as you delivered it."


def delivered(receipt: wire.Receipt, *, is_irreversible: bool, is_replayed: bool) -> str:
    waits = plan(receipt, assumption="", is_irreversible=is_irreversible)
    sentences = [EARLIER_REQUEST if is_replayed else "", waits]
    more = "".join(f" {sentence}" for sentence in sentences if sentence)
    ids = f"delivery_id: {receipt.delivery_id}{_digest(receipt, before=' ')}"
    return f"Delivered; people see it in their inbox.{more} {ids}"


def answered(
    answer: wire.Answer,
    *,
    plan: str = "",
    is_replayed: bool = False,
    is_read: bool = False,
    is_claimed: bool = False,
) -> str:
    """Describes an answer. `plan` says what the agent does if no answer comes in time.
    `is_replayed` means that an earlier call asked, `is_read` that an earlier call returned this
    answer, and `is_claimed` that this call used the approval."""
    if isinstance(answer.withdrawn_at, datetime):
        return _withdrawn(answer.withdrawn_at, answer)
    if answer.status == "pending":
        return _pending(answer, plan, is_replayed=is_replayed)
    meaning = BY_RULE if answer.responded_by else MEANINGS[answer.status]
    lines = [f"{answer.status}: {meaning}"]
    if is_claimed:
        lines.append(CLAIMED)
    if is_replayed:
        lines.append(EARLIER_ANSWER)
    elif is_read and answer.status != "rejected":
        lines.append(READ_BEFORE)
    if (is_replayed or is_read) and answer.status != "rejected":
        lines.append(ONCE)
    if answer.late:
        lines.append("The answer came after the deadline.")
    if answer.erased:
        lines.append("Its text was erased after the time for which the team keeps content.")
    if answer.feedback:
        lines.append(f"Feedback: {answer.feedback}")
    if (edit := bytes(answer.edited_content)) != b"null":
        lines.append(f"edited_content: {edit.decode()}")
    lines += _receipt(answer)
    lines.append(f"delivery_id: {answer.delivery_id}")
    if answer.status != "rejected" and not is_claimed:
        lines[-1] += _digest(answer, before="\n")
    return "\n".join(lines)


def swept(sweep: wire.Sweep, *, since: str | None, read: set[UUID]) -> str:
    """Describes the answers of a sweep after `since`. `read` has the deliveries whose answer an
    earlier call returned."""
    if not sweep.deliveries and since is None:
        return "No answers yet."
    if not sweep.deliveries:
        return f"No answers since {since}. For older ones, call answers without since."
    more = " There are more: call answers again with next_since." if sweep.has_more else ""
    head = f"Answers: {len(sweep.deliveries)}.{more} next_since: {sweep.next_since}"
    answers = [answered(answer, is_read=answer.delivery_id in read) for answer in sweep.deliveries]
    return "\n\n".join([head, *answers])


def withdrawn(withdrawal: wire.Withdrawal) -> str:
    return f"Withdrawn at {wire.instant(withdrawal.withdrawn_at)}. People are not asked any more."


def reported(*, is_replayed: bool) -> str:
    return EARLIER_REPORT if is_replayed else "Reported: people see it beside the delivery."


def task(answer: wire.Answer, status: str) -> str:
    """Describes the state of a task to the model."""
    if status == "cancelled":
        return "The delivery was withdrawn. People are not asked any more."
    if status == "working":
        limit = f" until {wire.instant(answer.expires_at)}" if answer.expires_at else ""
        return f"No decision yet. Waits{limit} for a person."
    if answer.status == "pending":
        return "The deadline passed without an answer."
    who = "A rule of the team" if answer.responded_by else "A person"
    return f"{who} answered: {answer.status}."


def plan(receipt: wire.Receipt, *, assumption: str, is_irreversible: bool) -> str:
    if receipt.on_timeout == "hold":
        return CANNOT_BE_UNDONE if is_irreversible else MUST_WAIT
    return f"You said what you do after the deadline: {_quoted(assumption)}" if assumption else ""


def _quoted(text: str) -> str:
    """Returns the text in quotation marks and on one line, so that the model does not take the text
    for instructions. The text may come from elsewhere."""
    return json.dumps(reveal(text), ensure_ascii=False)


def plan_of(on_timeout: str) -> str:
    """Returns the plan of a delivery that is read later, perhaps in another session. A rule or the
    agent itself may have set the plan."""
    return WAITS if on_timeout == "hold" else ""


def _pending(answer: wire.Answer, plan: str, *, is_replayed: bool) -> str:
    lines = ["pending: no decision yet. This is no approval."]
    if is_replayed:
        lines.append(EARLIER_REQUEST)
    if answer.expires_at is None:
        lines.append("There is no deadline: wait for the answer before you do it.")
    elif answer.expired:
        lines.append(f"The deadline passed at {wire.instant(answer.expires_at)} without an answer.")
    else:
        lines.append(f"Deadline: {wire.instant(answer.expires_at)}.")
    if plan and answer.expires_at:
        lines.append(plan)
    if not answer.expired:
        lines.append(f"Go on with other work; call check with delivery_id {answer.delivery_id}.")
    return "\n".join(lines) + _digest(answer, before="\n")


def _receipt(answer: wire.Answer) -> list[str]:
    receipt = answer.receipt if isinstance(answer, ToolAnswer) else UNSET
    if receipt is None:
        return ["The receipt cannot be made now. Nothing is lost: call check with receipt later."]
    return [f"receipt: {receipt}"] if isinstance(receipt, str) else []


def _withdrawn(at: datetime, answer: wire.Answer) -> str:
    return (
        f"withdrawn at {wire.instant(at)}: people are not asked any more, and no answer will come. "
        "This is no approval. Do not wait for it; ask again if you still need a decision.\n"
        f"delivery_id: {answer.delivery_id}"
    )


def _digest(told: wire.Receipt | wire.Answer, *, before: str) -> str:
    """Returns the digest as a part of the text. A model needs the digest to claim, and reads only
    the text."""
    return f"{before}digest: {told.digest}" if isinstance(told.digest, str) else ""
