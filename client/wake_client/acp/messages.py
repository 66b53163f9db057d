"""Reads and writes messages of the Agent Client Protocol (ACP), which are JSON-RPC 2.0, one a line.

Source: version 1 of the schema on agentclientprotocol.com, as the official SDKs had it on
2026-11-26 (npm @agentclientprotocol/sdk 2.4.0, PyPI agent-client-protocol 0.12.1).
"""

from __future__ import annotations

import json
from typing import Any

Message = dict[str, Any]
RequestId = str | int

INITIALIZE = "initialize"
NEW_SESSION, LOAD_SESSION, RESUME_SESSION = "session/new", "session/load", "session/resume"
PROMPT, CANCEL, UPDATE = "session/prompt", "session/cancel", "session/update"
REQUEST_PERMISSION = "session/request_permission"
CANCEL_REQUEST = "$/cancel_request"


class Unread(ValueError):
    """Wake does not read this line, but the editor or the agent might. The text says why."""


def message_of(line: bytes) -> Message | None:
    """Returns the message on a line, or None if the line is no JSON. Raises Unread for what other
    programs might read in another way, such as an object with two members of one name."""
    if not line.strip():
        return None
    try:
        message = json.loads(line, object_pairs_hook=_members)
    except json.JSONDecodeError:
        return None
    except (ValueError, RecursionError) as error:
        raise Unread(str(error)) from error
    if isinstance(message, list):
        raise Unread("Version 1 of the protocol has no batches.")
    return message if isinstance(message, dict) else None


def request_id(message: Message) -> RequestId | None:
    """Returns the id of a request or a response. Returns None if there is no id, or an id that is
    not a text or an integer. Some programs write the integer 5 as 5.0."""
    return as_id(message.get("id"))


def as_id(value: Any) -> RequestId | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def is_response(message: Message) -> bool:
    return "method" not in message and "id" in message


def params_of(message: Message) -> Message:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def permission_response(id: RequestId, option_id: str | None) -> bytes:
    """Returns the line that answers a permission request. An `option_id` of None is the outcome
    `cancelled`, after which the agent must not go on."""
    outcome = {"outcome": "cancelled"}
    if option_id is not None:
        outcome = {"outcome": "selected", "optionId": option_id}
    return _line({"id": id, "result": {"outcome": outcome}})


def cancellation(id: RequestId) -> bytes:
    """Returns the line that tells the editor that a request needs no answer any more."""
    return _line({"method": CANCEL_REQUEST, "params": {"requestId": id}})


def _line(message: Message) -> bytes:
    text = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))
    return f"{text}\n".encode()


def _members(pairs: list[tuple[str, Any]]) -> Message:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("An object has two members of one name.")
    return members
