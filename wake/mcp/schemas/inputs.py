"""Writes the JSON Schemas of the tools' arguments. Models read them, so each limit that a model
could run into is here, and every word counts (docs/decisions/0079-tools-are-short.md)."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from wake.api.serializers import (
    DELIVERY_PAYLOAD,
    DIGEST,
    LONGEST_NAME,
    MAX_OPTIONS,
    MAX_ROWS,
    OUTCOME_PAYLOAD,
    WITHDRAWAL_PAYLOAD,
)

LONGEST_WAIT = 50
USUAL_WAIT = 45
LIMITS: dict[str, Any] = {**DELIVERY_PAYLOAD.get_fields(), **WITHDRAWAL_PAYLOAD.get_fields()}
OUTCOME_LIMITS: dict[str, Any] = {**OUTCOME_PAYLOAD.get_fields()}


def text(longest: int, description: str) -> dict[str, Any]:
    return {"type": "string", "maxLength": longest, "description": description}


def limited(name: str, description: str) -> dict[str, Any]:
    """Describes an argument that is a text field of the REST API, with the same limit."""
    longest = LIMITS[name].max_length
    return text(longest, description.format(longest=longest))


def number(name: str, description: str) -> dict[str, Any]:
    """Describes an argument that is a number of the REST API, with the same limits."""
    limits = {"minimum": LIMITS[name].min_value, "maximum": LIMITS[name].max_value}
    return {"type": "integer", **limits, "description": description}


def details(description: str) -> dict[str, Any]:
    return {"type": ["string", "object"], "description": description}


# Models often write too much here, and some see only the description. So it says the limit, too.
HEADLINE = limited("headline", "The subject, on one line of up to {longest} characters.")
SUMMARY = limited("summary", "The first thing to know, on one line of up to {longest} characters.")
MARKDOWN = 'Markdown, or an object whose values people may edit, or {"wake_blocks":1,"blocks":['
PICTURE = '{"type":"image","alt":"...","data":"base64"}'
CHOICE = (
    '{"type":"choice","name":"day","label":"Which day?","multiple":false,"options":[{"id":"mon",'
    '"label":"Monday","recommended":true},...]}'
)
MAX_SIZE = f"At most {settings.WAKE_MAX_BODY_BYTES // 1024} KiB."
DETAILS = details(f'{MARKDOWN}{{"type":"markdown","text":"..."}},{PICTURE}]}}. {MAX_SIZE}')
DETAILS_OF_A_QUESTION = details(
    f'{MARKDOWN}{{"type":"markdown","text":"..."}},{CHOICE}]}}. Use choices for several '
    f"questions or to recommend an answer; edited_content has the answers by name. {MAX_SIZE}"
)
DELIVERY_ID = {"type": "string", "description": "From deliver or ask."}
SUPERSEDES = {"type": "string", "description": "An earlier delivery_id that this replaces."}
REASON = limited("reason", "Why it needs no answer any more. People see it.")
OPTIONS = {
    "type": "array",
    "items": {"type": "string", "maxLength": LONGEST_NAME},
    "maxItems": MAX_OPTIONS,
    "description": "Different answers to choose from. edited_content.choice has the chosen one.",
}
SINCE = text(40, "next_since of an earlier call. Without it: all, also those you have read.")
LIMIT = {"type": "integer", "minimum": 1, "maximum": MAX_ROWS, "default": 50}
THREAD = limited("thread", "Groups deliveries about the same matter.")
# A question is asked with `ask`. A call of `deliver` with the type `question` still works.
TYPE = {"type": "string", "enum": [kind for kind in LIMITS["type"].choices if kind != "question"]}
PRIORITY = {"type": "string", "enum": list(LIMITS["priority"].choices), "default": "normal"}
QUORUM = number("quorum", "How many people have to approve.")
IRREVERSIBLE = {
    "type": "boolean",
    "description": "true: it cannot be undone. Wait for the answer, even after the deadline.",
}
RECEIPT = {
    "type": "boolean",
    "description": "true: the answer comes with its signed receipt.",
}
TIMEOUT = number(
    "timeout_seconds",
    "Seconds until you go on without an answer. Without it, the question stays open.",
)
ASSUMPTION = limited("assumption", "Your plan if no answer comes in time.")
CLAIM = {
    "type": "string",
    "pattern": DIGEST,
    "description": "The digest from ask or deliver. Give it just before you do what was approved: "
    "it uses the approval, once. If the call fails, do not do it.",
}
OUTCOME_STATUS = {
    "type": "string",
    "enum": list(OUTCOME_LIMITS["status"].choices),
    "description": "failed: you tried, and it did not work. skipped: you did not do it.",
}
OUTCOME_SUMMARY = text(
    OUTCOME_LIMITS["summary"].max_length,
    "The result on one line, such as the number of the refund or the error.",
)
OUTCOME_DETAILS = details("All the rest: Markdown, or an object.")


def wait(usual: int) -> dict[str, Any]:
    return {
        "type": "integer",
        "minimum": 0,
        "maximum": LONGEST_WAIT,
        "default": usual,
        "description": "Seconds to wait for an answer.",
    }


def takes(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema of a tool's arguments. Other properties are not excluded, because a tool
    also takes some that it does not list (Tool.also_takes)."""
    return {"type": "object", "properties": properties, "required": required}
