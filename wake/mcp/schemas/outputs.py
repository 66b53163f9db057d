"""Writes the JSON Schemas of the tools' results. They are made from the structs of the wire, with
words for models instead of the docstrings, which are for the people who change the structs."""

from __future__ import annotations

from typing import Any

import msgspec

from wake import wire
from wake.mcp.results import CheckedAnswer, ToolAnswer

DESCRIPTIONS: dict[str, str] = {
    "status": "approved: do it as delivered. redirected: do it as feedback and edited_content say. "
    "rejected: do not do it. pending: no decision, never a yes.",
    "feedback": "The person's message.",
    "edited_content": "The person's choice or change: use it instead of yours.",
    "expires_at": "The deadline.",
    "expired": "The deadline passed; that alone approves nothing.",
    "late": "The answer came after the deadline.",
    "erased": "Its texts were erased.",
    "quorum": "Approvals needed and given.",
    "responded_by": "Present if a rule answered.",
    "digest": "Give it to check as claim.",
    "withdrawn_at": "You withdrew it: no answer will come.",
    "on_timeout": "hold: wait for the answer, also after the deadline.",
    "claim": "Present if this call used the approval: act now, once.",
    "next_since": "Give it to answers as since.",
    "deliveries": "Answers, each as check returns it.",
}


def returns(struct: type[msgspec.Struct], *described: str) -> dict[str, Any]:
    """Returns the schema of one of the wire's structs. `described` names the members with a
    description. Structs inside are only called objects; docs/protocol.md has their members."""
    _, components = msgspec.json.schema_components([struct], ref_template="{name}")
    schema = components[struct.__name__]
    properties = {name: _short(member) for name, member in schema["properties"].items()}
    for name in described:
        properties[name]["description"] = DESCRIPTIONS[name]
    return {"type": "object", "properties": properties, "required": schema["required"]}


def _short(member: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema of a member without formats and references."""
    match member:
        case {"$ref": _}:
            return {"type": "object"}
        case {"anyOf": [{"type": kind}, {"type": "null"}]}:
            return {"type": [kind, "null"]}
        case {"type": "array", "items": item}:
            return {"type": "array", "items": _short(item)}
        case {"type": kind}:
            return {"type": kind}
    return member


RECEIPT = returns(wire.Receipt, "on_timeout", "digest")
ANSWER = returns(ToolAnswer, "status", "edited_content", "expired", "digest")
CHECKED_ANSWER = returns(
    CheckedAnswer, *(name for name in DESCRIPTIONS if name in CheckedAnswer.__struct_fields__)
)
SWEEP = returns(wire.Sweep, "deliveries", "next_since")
WITHDRAWAL = returns(wire.Withdrawal)
OUTCOME = returns(wire.OutcomeReceipt)
