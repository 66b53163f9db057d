"""JSON Schemas of what the tools take and return."""

from __future__ import annotations

from typing import Any

import msgspec

from wake import wire

LONGEST_WAIT = 50
USUAL_WAIT = 45


def text(longest: int, description: str) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": longest, "description": description}


HEADLINE = text(120, "What it is about, on one line.")
SUMMARY = text(280, "What the person needs to know first, on one line.")
DETAILS = {
    "type": ["string", "object"],
    "description": "All the rest: Markdown, or an object with values that the person may edit.",
}
DELIVERY_ID = text(36, "The delivery_id that deliver or ask returned.")
SUPERSEDES = text(36, "The delivery_id of an earlier delivery that this one replaces.")
REASON = text(500, "Why it needs no answer any more; people see it.")
OPTIONS = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": 64},
    "minItems": 1,
    "maxItems": 12,
    "uniqueItems": True,
    "description": "Answers to choose from. The chosen one comes back in edited_content.choice.",
}
SINCE = text(40, "next_since of the last call; leave it out for all answers.")
LIMIT = {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}
THREAD = text(128, "A name that deliveries about the same matter share.")
PRIORITY = {"type": "string", "enum": ["low", "normal", "high"]}
IDEMPOTENCY_KEY = text(
    255, "Calls with the same key make one delivery. Usually not needed: equal calls within ten "
    "minutes make one anyway."
)  # fmt: skip
TIMEOUT = {
    "type": "integer",
    "minimum": 60,
    "maximum": 604_800,
    "description": "Seconds until you go on without an answer. Without it you wait for ever.",
}
ASSUMPTION = text(2000, "What you will do if no answer comes in time.")


def wait(usual: int) -> dict[str, Any]:
    return {
        "type": "integer",
        "minimum": 0,
        "maximum": LONGEST_WAIT,
        "default": usual,
        "description": "Seconds to wait for the answer before this call returns.",
    }


def takes(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def returns(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Returns the schema of one of the wire's structs, with those that it names."""
    _, found = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    schema: dict[str, Any] = found.pop(struct.__name__)
    return {**schema, "$defs": found} if found else schema


RECEIPT = returns(wire.Receipt)
ANSWER = returns(wire.Answer)
SWEEP = returns(wire.Sweep)
WITHDRAWAL = returns(wire.Withdrawal)
