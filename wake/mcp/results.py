"""Holds what a tool returns: data for programs, and text for the model."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from wake import wire
from wake.mcp.protocol import Json


class ToolAnswer(wire.Answer):
    """Answers `ask`. `receipt` is present if the agent asked for it and there is an answer."""

    receipt: str | msgspec.UnsetType | None = msgspec.UNSET


class CheckedAnswer(ToolAnswer):
    """Answers `check`. `claim` is present if this call used the approval."""

    claim: wire.Claim | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True)
class McpResult:
    structured: msgspec.Struct
    text: str
    # The client shows these members in its card (wake/mcp/cards/). The model does not see them.
    meta: Json | None = None

    def as_json(self) -> Json:
        result = {
            "content": [text_block(self.text)],
            "structuredContent": msgspec.json.decode(wire.encode(self.structured)),
            "isError": False,
        }
        return result if self.meta is None else {**result, "_meta": self.meta}


@dataclass(frozen=True, slots=True)
class McpTask:
    """Holds a task whose result comes later (wake/mcp/tasks.py)."""

    members: Json

    def as_json(self) -> Json:
        return {"resultType": "task", **self.members}


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}
