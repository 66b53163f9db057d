"""Writes the JSON Schemas of the tools' arguments and results."""

from __future__ import annotations

from typing import Any

import msgspec

from database.idempotency import LONGEST_KEY
from wake import wire
from wake.api.serializers import (
    DELIVERY_PAYLOAD,
    DIGEST,
    LONGEST_LABEL,
    LONGEST_NAME,
    MAX_OPTIONS,
    MAX_ROWS,
    OUTCOME_PAYLOAD,
    WITHDRAWAL_PAYLOAD,
)
from wake.mcp.results import CheckedAnswer

LONGEST_WAIT = 50
USUAL_WAIT = 45
MAX_CHOICES = 10
LIMITS: dict[str, Any] = {**DELIVERY_PAYLOAD.get_fields(), **WITHDRAWAL_PAYLOAD.get_fields()}
OUTCOME_LIMITS: dict[str, Any] = {**OUTCOME_PAYLOAD.get_fields()}


def text(longest: int, description: str) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": longest, "description": description}


def limited(name: str, description: str) -> dict[str, Any]:
    """Describes an argument that is a text field of the REST API, with the same limit."""
    return text(LIMITS[name].max_length, description)


HEADLINE = limited("headline", "The subject, on one line.")
SUMMARY = limited("summary", "The first thing that the person needs to know, on one line.")
DETAILS = {
    "type": ["string", "object"],
    "description": "All the rest: Markdown, or an object with values that the person may edit. "
    'Typed blocks ({"wake_blocks": 1, "blocks": [...]}) can have tables, diffs, pictures and '
    'choices. A picture is {"type": "image", "alt": "what it shows", "data": "base64"} of a '
    'small PNG, JPEG, WebP or GIF; an uploaded one has its "blob" in place of "data". A choice is '
    '{"type": "choice", "name": "day", "label": "Which day?", "multiple": false, "options": '
    '[{"id": "mon", "label": "Monday", "recommended": true}, {"id": "tue", "label": "Tuesday"}]}.',
}
DELIVERY_ID = text(36, "The delivery_id that deliver or ask returned.")
SUPERSEDES = text(36, "The delivery_id of an earlier delivery that this one replaces.")
REASON = limited("reason", "Why it needs no answer any more; people see it.")
OPTIONS = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
    "minItems": 1,
    "maxItems": MAX_OPTIONS,
    "uniqueItems": True,
    "description": "Answers to choose from. The chosen one comes back in edited_content.choice.",
}
CHOICES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": text(LONGEST_NAME, "The member of edited_content that has the answer."),
            "label": text(LONGEST_LABEL, "The question."),
            "options": {**OPTIONS, "description": "Answers to choose from."},
            "multiple": {
                "type": "boolean",
                "default": False,
                "description": "Whether a person may choose several; the answer is then a list, or "
                "null if the person chose none.",
            },
        },
        "required": ["name", "label", "options"],
        "additionalProperties": False,
    },
    "minItems": 1,
    "maxItems": MAX_CHOICES,
    "description": "Several questions in one, each with its options; people answer with clicks. "
    "The answers come back in edited_content, by name.",
}
SINCE = text(40, "next_since of the last call; leave it out for all answers.")
LIMIT = {"type": "integer", "minimum": 1, "maximum": MAX_ROWS, "default": 50}
THREAD = limited("thread", "A name that deliveries about the same matter share.")
PRIORITY = {"type": "string", "enum": list(LIMITS["priority"].choices)}
QUORUM = {
    "type": "integer",
    "minimum": LIMITS["quorum"].min_value,
    "maximum": LIMITS["quorum"].max_value,
    "description": "How many people have to approve, if one is not enough.",
}
IRREVERSIBLE = {
    "type": "boolean",
    "description": "Whether what you do after an approval cannot be undone. You wait for the "
    "answer, also after the deadline, and each call asks people again.",
}
IDEMPOTENCY_KEY = text(
    LONGEST_KEY,
    "Calls with the same key make one delivery. Usually not needed: equal calls within ten "
    "minutes make one anyway, until you have read its answer."
)  # fmt: skip
TIMEOUT = {
    "type": "integer",
    "minimum": LIMITS["timeout_seconds"].min_value,
    "maximum": LIMITS["timeout_seconds"].max_value,
    "description": "Seconds until you go on without an answer. Without it you wait for ever.",
}
ASSUMPTION = limited("assumption", "Your plan if no answer comes in time.")


CLAIM = {
    "type": "string",
    "pattern": DIGEST,
    "description": "The digest that ask or deliver returned. Give it just before you do what was "
    "approved: if the answer is an approval, this call uses it. An approval can be used once. If "
    "the call fails, do not do it.",
}
OUTCOME_STATUS = {
    "type": "string",
    "enum": list(OUTCOME_LIMITS["status"].choices),
    "description": "done: you did it. failed: you tried, and it did not work. skipped: you did not "
    "do it.",
}
OUTCOME_SUMMARY = text(
    OUTCOME_LIMITS["summary"].max_length,
    "The result on one line, such as the number of the refund or the error.",
)
OUTCOME_DETAILS = {
    "type": ["string", "object"],
    "description": "All the rest: Markdown, or an object.",
}


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
    """Returns the schema of one of the wire's structs, with the structs that it names."""
    _, definitions = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    schema: dict[str, Any] = definitions.pop(struct.__name__)
    return {**schema, "$defs": definitions} if definitions else schema


RECEIPT = returns(wire.Receipt)
ANSWER = returns(wire.Answer)
CHECKED_ANSWER = returns(CheckedAnswer)
SWEEP = returns(wire.Sweep)
WITHDRAWAL = returns(wire.Withdrawal)
OUTCOME = returns(wire.OutcomeReceipt)
