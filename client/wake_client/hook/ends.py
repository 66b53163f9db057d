"""Reads the JSON that a coding agent writes to the stdin of its hook after a call has ended.

The agents' references describe this JSON. tests/client/hook/fixtures/after has an example for each
agent, with its source and date.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from wake_client.hook.approved import RunningCall
from wake_client.hook.calls import CLAUDE_CODE, CURSOR, Unexpected, needed_text, parsed
from wake_client.visible_text import json_text, shortened, visible

AFTER_TOOL, AFTER_FAILURE = "PostToolUse", "PostToolUseFailure"
AFTER_CURSOR_SHELL, AFTER_CURSOR_MCP = "afterShellExecution", "afterMCPExecution"
LONGEST_SUMMARY = 280
WORKED = "The call ended without an error."
INTERRUPTED = "A person stopped the call."
FAILED = "The call ended with an error."
# Cursor sends the output of a command, but not its exit status.
COMMAND_ENDED = "The command ended. Cursor does not say whether it succeeded."


@dataclass(frozen=True, slots=True)
class Ended:
    """Describes how a call ended. `summary` is one line."""

    call: RunningCall
    status: Literal["done", "failed"]
    summary: str


def read(text: str, *, agent: str) -> Ended | None:
    """Returns the call that has ended, or None if the event is another one. Raises Unexpected, or
    ValueError if the text is not JSON."""
    given = parsed(text)
    if not isinstance(given, dict):
        raise Unexpected("The hook's input is not an object.")
    event = needed_text(given, "hook_event_name")
    if agent == CLAUDE_CODE and event in {AFTER_TOOL, AFTER_FAILURE}:
        return _of_claude(given, event)
    if agent == CURSOR and event == AFTER_CURSOR_SHELL:
        arguments = {"command": needed_text(given, "command")}
        return Ended(_cursor_call(given, "Shell", arguments), "done", COMMAND_ENDED)
    if agent == CURSOR and event == AFTER_CURSOR_MCP:
        return _of_cursor_mcp(given)
    return None


def _of_claude(given: dict[str, Any], event: str) -> Ended:
    id = given.get("tool_use_id")
    call = RunningCall(
        CLAUDE_CODE,
        needed_text(given, "session_id"),
        needed_text(given, "tool_name"),
        _object(given.get("tool_input")),
        id if isinstance(id, str) and id else None,
    )
    match given:
        case {"is_interrupt": True} | {"tool_response": {"interrupted": True}}:
            return Ended(call, "failed", INTERRUPTED)
        case {"error": error} if event == AFTER_FAILURE and error:
            return Ended(call, "failed", _line(error))
    if event == AFTER_FAILURE:
        return Ended(call, "failed", FAILED)
    return Ended(call, "done", WORKED)


def _of_cursor_mcp(given: dict[str, Any]) -> Ended:
    arguments = given.get("tool_input", {})
    arguments = parsed(arguments) if isinstance(arguments, str) else arguments
    call = _cursor_call(given, needed_text(given, "tool_name"), _object(arguments))
    result = given.get("result_json")
    try:
        result = parsed(result) if isinstance(result, str) else result
    except ValueError:  # the result need not be JSON
        result = None
    match result:
        case {"isError": True}:
            return Ended(call, "failed", FAILED)
    return Ended(call, "done", WORKED)


def _cursor_call(given: dict[str, Any], tool: str, arguments: dict[str, Any]) -> RunningCall:
    return RunningCall(CURSOR, needed_text(given, "conversation_id"), tool, arguments)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unexpected("tool_input is not an object.")
    return value


def _line(error: Any) -> str:
    text = error if isinstance(error, str) else json_text(error)
    return shortened(visible(" ".join(text.split())), LONGEST_SUMMARY) or FAILED
