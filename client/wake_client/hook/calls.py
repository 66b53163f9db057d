"""Reads the JSON that a coding agent writes to the stdin of its hook.

The agents' references describe this JSON. tests/client/hook/fixtures has an example for each agent,
with its source and date.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

CLAUDE_CODE, CODEX, CURSOR = "claude-code", "codex", "cursor"
AGENTS = (CLAUDE_CODE, CODEX, CURSOR)
NAMES = {CLAUDE_CODE: "Claude Code", CODEX: "Codex", CURSOR: "Cursor"}
PERMISSION, BEFORE_TOOL = "PermissionRequest", "PreToolUse"
CURSOR_SHELL, CURSOR_MCP = "beforeShellExecution", "beforeMCPExecution"
ASK_USER, EXIT_PLAN = "AskUserQuestion", "ExitPlanMode"
# Claude Code ignores a deferral if the model makes several calls at the same time. In the mode
# BYPASS, Claude Code then runs the calls without asking.
BYPASS = "bypassPermissions"
BYPASSED = (
    "Permissions are bypassed, so calls that cannot be deferred would run without a question. "
    "Use another permission mode."
)
# Arguments that name a file or a folder.
PATHS = ("file_path", "notebook_path", "path")
# The hook asks about these tools at PreToolUse, so it ignores their permission requests.
INTERACTIVE = {ASK_USER, EXIT_PLAN}


class Unexpected(ValueError):
    """The input of the hook is not as the agent's reference describes it."""


@dataclass(frozen=True, slots=True)
class Call:
    """Describes a call of a tool that waits for a decision.

    `id` is the agent's own id of this call. If two equal calls have no ids, nothing distinguishes
    the two. `server` is the MCP server that has the tool, if the agent names it. `real_folder` and
    `real_paths` are the folder and the paths in the arguments with all links resolved, as they were
    when the hook read the call on the agent's machine.
    """

    agent: str
    event: str
    session: str
    folder: str
    tool: str
    arguments: dict[str, Any]
    id: str | None = None
    server: str = ""
    real_folder: str = field(init=False)
    real_paths: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        paths = {name: self.arguments.get(name) for name in PATHS}
        real_paths = {
            name: _real(PurePath(self.folder, path))
            for name, path in paths.items()
            if isinstance(path, str)
        }
        object.__setattr__(self, "real_folder", _real(self.folder))
        object.__setattr__(self, "real_paths", real_paths)

    @property
    def digest(self) -> str:
        """Returns the SHA-256 of everything that determines what runs, and where. If two calls have
        the same id but different digests, they are different calls."""
        where = [self.folder, self.real_folder, self.real_paths]
        what = [self.agent, self.session, self.tool, self.server, self.arguments]
        text = json.dumps([where, what], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def project(self) -> str:
        return PurePath(self.folder.replace("\\", "/")).name or self.folder


def _real(path: str | PurePath) -> str:
    """Returns the path with its links resolved, or unchanged if no file can have it."""
    try:
        return os.path.realpath(path)
    except ValueError:
        return str(path)


def read(text: str, *, agent: str, deferring: bool = False) -> Call | None:
    """Returns the call that needs a person, or None if the event needs none. With `deferring`,
    every PreToolUse event needs a person, and no other event does. Raises Unexpected, or ValueError
    if the text is not JSON."""
    given = parsed(text)
    if not isinstance(given, dict):
        raise Unexpected("The hook's input is not an object.")
    if agent == CURSOR:
        return _of_cursor(given)
    event, tool = needed_text(given, "hook_event_name"), needed_text(given, "tool_name")
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
        needed_text(given, "session_id"),
        needed_text(given, "cwd"),
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
    """Returns the name of the server from the name of an MCP tool (`mcp__server__tool`), or an
    empty text."""
    prefix, _, rest = tool.partition("__")
    server, separator, _ = rest.partition("__")
    return server if prefix == "mcp" and separator else ""


def _of_cursor(given: dict[str, Any]) -> Call | None:
    event, session = needed_text(given, "hook_event_name"), needed_text(given, "conversation_id")
    roots = given.get("workspace_roots")
    folder = given.get("cwd") or (roots[0] if isinstance(roots, list) and roots else "")
    if not isinstance(folder, str):
        raise Unexpected("The folder is not a text.")
    if event == CURSOR_SHELL:
        arguments = {"command": needed_text(given, "command")}
        return Call(CURSOR, event, session, folder, "Shell", arguments)
    if event == CURSOR_MCP:
        arguments = given.get("tool_input", {})
        arguments = parsed(arguments) if isinstance(arguments, str) else arguments
        if not isinstance(arguments, dict):
            raise Unexpected("tool_input is not an object.")
        tool = needed_text(given, "tool_name")
        return Call(CURSOR, event, session, folder, tool, arguments, server=_cursor_server(given))
    return None


def _cursor_server(given: dict[str, Any]) -> str:
    """Returns the address or the command of the MCP server, or both. Cursor sends one of them."""
    named = [given[name] for name in ("url", "command") if given.get(name) is not None]
    if not all(isinstance(text, str) for text in named):
        raise Unexpected("The MCP server is not a text.")
    return " ".join(named)


def parsed(text: str) -> Any:
    """Parses JSON, and refuses an object with two members of the same name: a person would see one
    of them, and the tool might use the other. Raises ValueError."""
    return json.loads(text, object_pairs_hook=_members)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise Unexpected("The hook's input has two members of one name.")
    return members


def needed_text(given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise Unexpected(f"The hook's input has no {name}.")
    return value
