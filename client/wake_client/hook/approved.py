"""Remembers the deliveries of approved calls until the agent says that the call has ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wake_client.files import locked, stored_json, write_whole
from wake_client.hook.calls import CLAUDE_CODE, CURSOR

MAX_CALLS = 1000
# The agents that run `wake hook --report` after a call.
REPORTING = (CLAUDE_CODE, CURSOR)


@dataclass(frozen=True, slots=True)
class RunningCall:
    """Identifies a call that an agent runs, by the agent's own id or by the arguments. The argument
    `description` does not count, because an agent need not repeat it."""

    agent: str
    session: str
    tool: str
    arguments: Mapping[str, Any]
    id: str | None = None

    @property
    def keys(self) -> list[str]:
        """Returns the keys under which the call may be stored, the most exact one first."""
        rest = {name: value for name, value in self.arguments.items() if name != "description"}
        named = [[self.agent, self.session, self.tool, rest]]
        if self.id:
            named.insert(0, [self.agent, self.session, self.id])
        return [_sha256(each) for each in named]


class Approved:
    """Stores in a file which delivery allowed which call. If several deliveries allowed equal calls
    without ids, the call that ends first counts for the first delivery. Several processes may use
    the file at the same time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def remember(self, call: RunningCall, delivery_id: str) -> None:
        """Stores the delivery that allowed a call. Raises OSError or ValueError."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self.path):
            entries = self._read()
            entries.append([call.keys[0], delivery_id])
            self._write(entries[-MAX_CALLS:])

    def take(self, call: RunningCall) -> str | None:
        """Returns the delivery that allowed the call, and forgets it. Returns None if no delivery
        is stored for the call. Raises OSError or ValueError."""
        if not self.path.exists():
            return None
        with locked(self.path):
            entries = self._read()
            for key in call.keys:
                for place, (stored, delivery_id) in enumerate(entries):
                    if stored == key:
                        del entries[place]
                        self._write(entries)
                        return delivery_id
        return None

    def _read(self) -> list[list[str]]:
        match stored_json(self.path) or []:
            case [*entries] if all(_is_entry(entry) for entry in entries):
                return entries
        raise ValueError(f"{self.path} is damaged. Remove it.")

    def _write(self, entries: list[list[str]]) -> None:
        write_whole(self.path, json.dumps(entries, indent=0) + "\n", mode=0o600)


def _is_entry(entry: Any) -> bool:
    match entry:
        case [str(), str()]:
            return True
    return False


def _sha256(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
