"""Describes a call of a tool that needs people."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Describes a call that a framework has paused.

    `thread` is the id of the run in the framework's own store, and `call_id` the framework's id of
    this call in the thread. `arguments` are JSON, as the model wrote them.
    """

    framework: str
    thread: str
    call_id: str
    tool: str
    arguments: dict[str, Any]

    @property
    def digest(self) -> str:
        """Returns the SHA-256 of the tool and its arguments. Raises ValueError or TypeError if the
        arguments are not JSON."""
        return digest_of(self.tool, self.arguments)


def digest_of(tool: str, arguments: dict[str, Any]) -> str:
    text = json.dumps([tool, arguments], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def is_json(arguments: dict[str, Any]) -> bool:
    """Returns whether the arguments have a digest. Python reads NaN and 1e999, which are not
    JSON."""
    try:
        digest_of("", arguments)
    except (ValueError, TypeError):
        return False
    return True
