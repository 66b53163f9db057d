"""Reads what a coding agent writes to the stdin of its hook.

The references of the agents describe it; tests/client/hook/fixtures has an example of each, with
its source and date.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

CLAUDE_CODE, CODEX, CURSOR = "claude-code", "codex", "cursor"
AGENTS = (CLAUDE_CODE, CODEX, CURSOR)
NAMES = {CLAUDE_CODE: "Claude Code", CODEX: "Codex", CURSOR: "Cursor"}
PERMISSION, BEFORE_TOOL = "PermissionRequest", "PreToolUse"
CURSOR_SHELL, CURSOR_MCP = "beforeShellExecution", "beforeMCPExecution"
ASK_USER, EXIT_PLAN = "AskUserQuestion", "ExitPlanMode"
# Their own event asks for them, so that a permission request does not ask again.
INTERACTIVE = {ASK_USER, EXIT_PLAN}


class Unexpected(ValueError):
    """The input of the hook is not as the agent's reference describes it."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool that waits for a decision. `id` is the agent's own id of this call; without
    one, two equal calls cannot be told apart."""

    agent: str
    event: str
    session: str
    folder: str
    tool: str
    arguments: dict[str, Any]
    id: str | None = None

    @property
    def project(self) -> str:
        return PurePath(self.folder.replace("\\", "/")).name or self.folder


def read(text: str, *, agent: str, deferring: bool = False) -> Call | None:
    """Returns the call that needs a person, or None for an event that is not for people. With
    `deferring`, every PreToolUse is for people. Raises Unexpected, or
    ValueError for what is not JSON."""
    given = json.loads(text)
    if not isinstance(given, dict):
        raise Unexpected("The hook's input is not an object.")
    if agent == CURSOR:
        return _of_cursor(given)
    event, tool = _text(given, "hook_event_name"), _text(given, "tool_name")
    is_interactive = tool in INTERACTIVE
    is_for_people = (
        (event == PERMISSION and not is_interactive)
        or (event == BEFORE_TOOL and agent == CLAUDE_CODE and (is_interactive or deferring))
    )  # fmt: skip
    if not is_for_people:
        return None
    arguments = given.get("tool_input")
    if not isinstance(arguments, dict):
        raise Unexpected("tool_input is not an object.")
    id = given.get("tool_use_id")
    return Call(
        agent,
        event,
        _text(given, "session_id"),
        _text(given, "cwd"),
        tool,
        arguments,
        id if isinstance(id, str) and id else None,
    )


def _of_cursor(given: dict[str, Any]) -> Call | None:
    event, session = _text(given, "hook_event_name"), _text(given, "conversation_id")
    roots = given.get("workspace_roots")
    folder = given.get("cwd") or (roots[0] if isinstance(roots, list) and roots else "")
    if not isinstance(folder, str):
        raise Unexpected("The folder is not a text.")
    if event == CURSOR_SHELL:
        arguments = {"command": _text(given, "command")}
        return Call(CURSOR, event, session, folder, "Shell", arguments)
    if event == CURSOR_MCP:
        arguments = given.get("tool_input", {})
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        if not isinstance(arguments, dict):
            raise Unexpected("tool_input is not an object.")
        return Call(CURSOR, event, session, folder, _text(given, "tool_name"), arguments)
    return None


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise Unexpected(f"The hook's input has no {name}.")
    return value
