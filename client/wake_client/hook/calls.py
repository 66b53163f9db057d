"""Reads what a coding agent writes to the stdin of its hook.

The references of the agents describe it; tests/client/hook/fixtures has an example of each, with
its source and date.
"""

from __future__ import annotations

import hashlib
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
# Claude Code ignores a deferral where the model makes several calls at a time, and then runs them
# without a question in this mode.
BYPASS = "bypassPermissions"
BYPASSED = (
    "Permissions are bypassed, so calls that cannot be deferred would run without a question. "
    "Use another permission mode."
)
# Their own event asks for them, so that a permission request does not ask again.
INTERACTIVE = {ASK_USER, EXIT_PLAN}


class Unexpected(ValueError):
    """The input of the hook is not as the agent's reference describes it."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool that waits for a decision. `id` is the agent's own id of this call; without
    one, two equal calls cannot be told apart. `server` is the MCP server that has the tool, as far
    as the agent names it."""

    agent: str
    event: str
    session: str
    folder: str
    tool: str
    arguments: dict[str, Any]
    id: str | None = None
    server: str = ""

    @property
    def digest(self) -> str:
        """Returns the SHA-256 of everything that says what runs, and where. Two calls of one id
        with different digests are different calls."""
        what = [self.agent, self.session, self.folder, self.tool, self.server, self.arguments]
        text = json.dumps(what, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def project(self) -> str:
        return PurePath(self.folder.replace("\\", "/")).name or self.folder


def read(text: str, *, agent: str, deferring: bool = False) -> Call | None:
    """Returns the call that needs a person, or None for an event that is not for people. With
    `deferring`, these are every PreToolUse and nothing else. Raises Unexpected, or ValueError for
    what is not JSON."""
    given = _json(text)
    if not isinstance(given, dict):
        raise Unexpected("The hook's input is not an object.")
    if agent == CURSOR:
        return _of_cursor(given)
    event, tool = _text(given, "hook_event_name"), _text(given, "tool_name")
    if not _is_for_people(agent, event, tool, deferring=deferring):
        return None
    if deferring and given.get("permission_mode") == BYPASS:
        raise Unexpected(BYPASSED)
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
        _mcp_server(tool),
    )


def _is_for_people(agent: str, event: str, tool: str, *, deferring: bool) -> bool:
    if event == BEFORE_TOOL and agent == CLAUDE_CODE:
        return deferring or tool in INTERACTIVE
    return event == PERMISSION and tool not in INTERACTIVE and not deferring


def _mcp_server(tool: str) -> str:
    """Returns the server in the name of a tool of MCP, `mcp__server__tool`, or an empty text."""
    prefix, _, rest = tool.partition("__")
    server, separator, _ = rest.partition("__")
    return server if prefix == "mcp" and separator else ""


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
        arguments = _json(arguments) if isinstance(arguments, str) else arguments
        if not isinstance(arguments, dict):
            raise Unexpected("tool_input is not an object.")
        tool = _text(given, "tool_name")
        return Call(CURSOR, event, session, folder, tool, arguments, server=_cursor_server(given))
    return None


def _cursor_server(given: dict[str, Any]) -> str:
    """Returns the address or the command of the MCP server. Cursor sends one of them; if both are
    there, people see both."""
    named = [given[name] for name in ("url", "command") if given.get(name) is not None]
    if not all(isinstance(text, str) for text in named):
        raise Unexpected("The MCP server is not a text.")
    return " ".join(named)


def _json(text: str) -> Any:
    """Parses JSON whose members have different names: of two with one name a person would see one,
    and the tool might take the other. Raises ValueError."""
    return json.loads(text, object_pairs_hook=_members)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise Unexpected("The hook's input has two members of one name.")
    return members


def _text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise Unexpected(f"The hook's input has no {name}.")
    return value
