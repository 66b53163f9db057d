"""Turns a call into a question for people, with every argument whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from wake_client import blocks
from wake_client.adapters.calls import ToolCall
from wake_client.http.flows import OptionalFields
from wake_client.visible_text import shortened, visible

# A person decides about what they can read. A call with longer arguments is denied.
MAX_CHARACTERS = 20_000
LONGEST_HEADLINE, LONGEST_SUMMARY, LONGEST_THREAD = 120, 280, 128
# The page shows about 400 lines of one block open, and 100 blocks.
MAX_VALUES, MAX_LONG = 300, 50
# A longer value gets a block of its own.
LONGEST_LINE = 200
REJECTS = "The agent gets no approval, and does not make the call."
WAITS = "The agent waits. Without an approval it does not make the call."


@dataclass(frozen=True, slots=True)
class AskOptions:
    """Says how people are asked about the calls of a tool.

    `timeout_seconds` is the deadline that people see. `on_timeout` says what happens if no one
    answers before the deadline: "reject" denies the call, and "wait" goes on waiting. `headline`
    and `summary` make the words of the question from the call. The other fields are those of a
    delivery (docs/protocol.md, Fields). Raises ValueError for "reject" without a deadline.
    """

    timeout_seconds: int | None = None
    on_timeout: Literal["reject", "wait"] = "wait"
    irreversible: bool = False
    quorum: int | None = None
    priority: Literal["low", "normal", "high"] | None = None
    claim_within_seconds: int | None = None
    headline: Callable[[ToolCall], str] | None = None
    summary: Callable[[ToolCall], str] | None = None

    def __post_init__(self) -> None:
        if self.on_timeout not in {"reject", "wait"}:
            raise ValueError('on_timeout is "reject" or "wait". No time-out approves a call.')
        if self.on_timeout == "reject" and self.timeout_seconds is None:
            raise ValueError('on_timeout="reject" needs timeout_seconds.')


class CallQuestion(TypedDict):
    """Holds the words of a delivery and its other fields."""

    headline: str
    summary: str
    optional: OptionalFields


def is_too_long(call: ToolCall) -> bool:
    """Returns whether a person could not read all arguments on one page."""
    characters = len(json.dumps(call.arguments, ensure_ascii=False))
    return characters > MAX_CHARACTERS or _values(call.arguments) > MAX_VALUES


def is_unicode(call: ToolCall) -> bool:
    """Returns whether the arguments can be sent. In JSON, a model can write half of a character,
    such as \\ud83d."""
    try:
        json.dumps(call.arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def question(call: ToolCall, options: AskOptions, *, digest: bool) -> CallQuestion:
    """Returns the question about a call. With `digest`, the receipt and the answer carry the digest
    of what people see, which a claim needs."""
    asks = f"An agent ({call.framework}) asks before it calls {call.tool}."
    optional: OptionalFields = {
        "details": _details(call),
        "thread": f"{call.framework}: {call.thread}"[:LONGEST_THREAD],
        "priority": options.priority,
        "quorum": options.quorum,
        "irreversible": options.irreversible or None,
        "claim_within_seconds": options.claim_within_seconds,
        "digest": digest or None,
    }
    if options.timeout_seconds is not None:
        rejects = options.on_timeout == "reject"
        optional["timeout_seconds"] = options.timeout_seconds
        optional["on_timeout"] = "abort" if rejects else "hold"
        optional["assumption"] = REJECTS if rejects else WAITS
    headline = options.headline(call) if options.headline else f"Call {call.tool}?"
    summary = options.summary(call) if options.summary else asks
    return {
        "headline": _line(headline, LONGEST_HEADLINE),
        "summary": _line(summary, LONGEST_SUMMARY),
        "optional": optional,
    }


def key_of(question: CallQuestion, row_key: str) -> str:
    """Returns the Idempotency-Key of a question. A program that is started again with other options
    sends another request, and the server refuses another request under the first one's key."""
    content = json.dumps(question, sort_keys=True)
    return f"{row_key}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _details(call: ToolCall) -> dict[str, Any]:
    """Returns blocks that together show every argument once and whole. The proposal is the part
    that a person edits."""
    long = {name: value for name, value in call.arguments.items() if _is_long(value)}
    long = long if len(long) <= MAX_LONG else {}
    short = {name: value for name, value in call.arguments.items() if name not in long}
    shown = [blocks.pairs(short, title="Arguments")] if short else []
    shown += [blocks.code(text, title=name) for name, text in long.items()]
    where = {"framework": call.framework, "tool": call.tool, "thread": call.thread}
    page = blocks.page(*shown, blocks.pairs(where, title="Where"))
    return {**page, "proposal": call.arguments}


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and (len(value) > LONGEST_LINE or "\n" in value)


def _values(value: Any) -> int:
    """Returns the number of values in a JSON value, with itself."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_values, inner))


def _line(text: str, longest: int) -> str:
    return shortened(visible(" ".join(text.split())) or "…", longest)
