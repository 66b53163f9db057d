"""Adds the hook to the settings of a coding agent, and removes the hook. The agent's other settings
are not changed."""

from __future__ import annotations

import copy
import difflib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wake_client.files import stored_json, write_whole
from wake_client.hook.calls import CLAUDE_CODE, CODEX, CURSOR

WAIT_SECONDS = 570
# The agent lets the hook run this much longer than the hook waits, so that the hook can withdraw
# its question.
SPARE_SECONDS = 30
# With this option, the hook reports what came of a call that has ended.
REPORT = "--report"
REPORT_SECONDS = 30
OURS = re.compile(r"\bhook --for (claude-code|codex|cursor)\b")
FILES = {
    CLAUDE_CODE: (".claude", "settings.json"),
    CODEX: (".codex", "hooks.json"),
    CURSOR: (".cursor", "hooks.json"),
}
NOTES = {
    CLAUDE_CODE: "Claude Code reads the change by itself; /hooks shows it.",
    CODEX: "Codex asks once whether you trust the hook: open /hooks in Codex.",
    CURSOR: "Cursor asks the hook about every command and every MCP call, also about allowed ones.",
}


@dataclass(frozen=True, slots=True)
class Change:
    """Holds the text of the settings before and after a change."""

    path: Path
    before: str
    after: str

    @property
    def diff(self) -> str:
        before, after = self.before.splitlines(), self.after.splitlines()
        name = str(self.path)
        return "\n".join(difflib.unified_diff(before, after, name, name, lineterm=""))

    def write(self) -> None:
        """Replaces the file, and keeps the file's mode. If the path is a link, writes the file that
        the link leads to, even if that file does not exist yet. Raises OSError."""
        self.path.resolve().parent.mkdir(parents=True, exist_ok=True)
        mode = self.path.stat().st_mode & 0o777 if self.path.exists() else 0o600
        write_whole(self.path, self.after, mode=mode)


def path_of(agent: str, *, home: Path, project: Path | None) -> Path:
    return (project or home).joinpath(*FILES[agent])


def install(agent: str, path: Path, *, command: str, wait: int = WAIT_SECONDS) -> Change:
    """Returns the change that adds the hook, without writing it. `command` starts this program, and
    the hook waits for `wait` seconds. Raises ValueError if the settings have another form."""
    before = _settings(path)
    after = _without_ours(before)
    hooks = after.setdefault("hooks", {})
    for event, entry in _entries(agent, command, wait):
        hooks.setdefault(event, []).append(entry)
    if agent == CURSOR:
        after.setdefault("version", 1)
    return _change(path, before, after)


def uninstall(path: Path) -> Change:
    before = _settings(path)
    return _change(path, before, _without_ours(before))


def is_installed(path: Path) -> bool:
    before = _settings(path)
    return _without_ours(before) != before


def _entries(agent: str, command: str, wait: int) -> list[tuple[str, dict[str, Any]]]:
    timeout = wait + SPARE_SECONDS
    run = {"type": "command", "command": command, "timeout": timeout}
    if agent == CURSOR:
        # Without this, Cursor would run a call whose hook crashes or takes too long.
        entry = {"command": command, "timeout": timeout, "failClosed": True}
        report = {"command": f"{command} {REPORT}", "timeout": REPORT_SECONDS}
        return [
            ("beforeShellExecution", entry),
            ("beforeMCPExecution", dict(entry)),
            ("afterShellExecution", report),
            ("afterMCPExecution", dict(report)),
        ]
    permission = ("PermissionRequest", {"hooks": [run]})  # without a matcher, it is for every tool
    if agent == CODEX:
        return [permission]
    ask = {"matcher": "AskUserQuestion|ExitPlanMode", "hooks": [dict(run)]}
    return [permission, ("PreToolUse", ask), *reports_of_claude(command)]


def reports_of_claude(command: str, *, matcher: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Returns the entries for the events after a call of Claude Code, each with the name of its
    event. An empty matcher means every tool."""
    run = {"type": "command", "command": f"{command} {REPORT}", "timeout": REPORT_SECONDS}
    entry = {"matcher": matcher} if matcher else {}
    return [
        (event, {**entry, "hooks": [dict(run)]}) for event in ("PostToolUse", "PostToolUseFailure")
    ]


def _settings(path: Path) -> dict[str, Any]:
    settings = stored_json(path)
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(each, list) for each in hooks.values()):
        raise ValueError(f"{path} has hooks of a shape that is not known, so it was not changed.")
    return dict(settings)


def _without_ours(settings: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings without our entries, and without lists and objects that are then
    empty."""
    result = copy.deepcopy(settings)
    hooks = result.get("hooks", {})
    for event, entries in list(hooks.items()):
        others = [other for entry in entries for other in _others(entry)]
        if others:
            hooks[event] = others
        elif entries:
            del hooks[event]
    if "hooks" in result and not hooks and settings["hooks"]:
        del result["hooks"]
    return result


def _others(entry: Any) -> list[Any]:
    """Returns the entry without our commands, or an empty list if it has no other commands."""
    if _is_ours(entry):
        return []
    commands = entry.get("hooks") if isinstance(entry, dict) else None
    if not isinstance(commands, list):
        return [entry]
    others = [command for command in commands if not _is_ours(command)]
    if len(others) == len(commands):
        return [entry]
    return [{**entry, "hooks": others}] if others else []


def _is_ours(entry: Any) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    return isinstance(command, str) and bool(OURS.search(command))


def _change(path: Path, before: dict[str, Any], after: dict[str, Any]) -> Change:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if before == after:
        return Change(path, text, text)
    return Change(path, text, json.dumps(after, indent=2, ensure_ascii=False) + "\n")
