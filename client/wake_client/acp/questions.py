"""Turns a permission request into a question for people, which shows the whole tool call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from wake_client import blocks
from wake_client.acp import messages
from wake_client.acp.messages import Message, RequestId
from wake_client.acp.sessions import Sessions
from wake_client.blocks import MAX_OPTIONS, Block
from wake_client.visible_text import shortened, visible

# The page of a delivery shows this much without leaving a part out. A longer call is not asked
# about, because no person could read the whole of it.
MAX_CHARACTERS, MAX_LINES, MAX_CONTENTS = 20_000, 400, 80
LONGEST_HEADLINE, LONGEST_SUMMARY, LONGEST_LABEL = 120, 280, 200
PERMISSION = "permission"
ALLOW_ONCE, ALLOW_ALWAYS = "allow_once", "allow_always"
REJECT_ONCE, REJECT_ALWAYS = "reject_once", "reject_always"
EFFECTS = {
    ALLOW_ONCE: "Allows this call.",
    ALLOW_ALWAYS: "Allows this call and, without a question, later calls like it.",
    REJECT_ONCE: "Rejects this call.",
    REJECT_ALWAYS: "Rejects this call and, without a question, later calls like it.",
}


class NotAsked(Exception):
    """The request cannot be asked in Wake, so only the editor asks. The text says why."""


@dataclass(frozen=True, slots=True)
class PermissionOption:
    id: str
    name: str
    kind: str

    @property
    def allows(self) -> bool:
        return self.kind in {ALLOW_ONCE, ALLOW_ALWAYS}


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """Holds a request of the agent. `call` has every member that says what the tool call does, and
    `others` the members of the request that the protocol does not define."""

    id: RequestId
    session: str
    call_id: str
    call: Message
    options: tuple[PermissionOption, ...]
    agent: str
    folder: str
    others: Mapping[str, Any] = field(default_factory=dict)

    @property
    def only_allow_once(self) -> PermissionOption | None:
        """Returns the option that an approval stands for: the only one of the kind allow_once."""
        options = [option for option in self.options if option.kind == ALLOW_ONCE]
        return options[0] if len(options) == 1 else None

    @property
    def title(self) -> str:
        title = self.call.get("title")
        return title if isinstance(title, str) and title.strip() else "a tool call"


@dataclass(frozen=True, slots=True)
class PermissionQuestion:
    headline: str
    summary: str
    details: dict[str, Any]


def request_of(id: RequestId, message: Message, sessions: Sessions) -> PermissionRequest:
    """Reads a permission request, and adds what the agent said earlier about the tool call. Raises
    NotAsked."""
    match params := messages.params_of(message):
        case {
            "sessionId": str(session),
            "toolCall": {"toolCallId": str(call_id)} as call,
            "options": [*given],
        }:
            sessions.update_call(session, call)
            options = tuple(map(_option, given))
        case _:
            raise NotAsked("The request is not as version 1 of the protocol defines it.")
    others = _others(params, "sessionId", "toolCall", "options")
    for number, option in enumerate(given, 1):
        unknown = _others(option, "optionId", "name", "kind")
        others |= {f"{name} of option {number}": value for name, value in unknown.items()}
    request = PermissionRequest(
        id=id,
        session=session,
        call_id=call_id,
        call=sessions.call(session, call_id),
        options=options,
        agent=sessions.agent,
        folder=sessions.folder(session),
        others=others,
    )
    _check(request)
    return request


def question(request: PermissionRequest) -> PermissionQuestion:
    """Returns the question. If exactly one option is of the kind allow_once, this option is the
    recommended one, so that an approval stands for it."""
    project = PurePath(request.folder.replace("\\", "/")).name
    end = f"` in {_line(project, 40)}?" if project else "`?"
    title = _line(request.title, LONGEST_HEADLINE - len("Allow `") - len(end))
    return PermissionQuestion(
        f"Allow `{title}{end}",
        _line(f"{request.agent} asks for permission.", LONGEST_SUMMARY),
        blocks.page(*_shown(request), _choice(request)),
    )


def _option(given: Any) -> PermissionOption:
    match given:
        case {"optionId": str(id), "name": str(name), "kind": str(kind)} if kind in EFFECTS:
            return PermissionOption(id, name, kind)
    raise NotAsked("An option is not as version 1 of the protocol defines it.")


def _check(request: PermissionRequest) -> None:
    """Raises NotAsked if people could not see the whole call, or could not tell the options
    apart."""
    options = request.options
    if not 1 <= len(options) <= MAX_OPTIONS:
        raise NotAsked(f"The request has {len(options)} options, and Wake shows 1 to 12.")
    if any(not option.name.strip() or len(option.name) > LONGEST_LABEL for option in options):
        raise NotAsked("An option has no name, or a name that is too long for a button.")
    if len({option.id for option in options}) < len(options):
        raise NotAsked("Two options have the same optionId.")
    if len({(option.name, option.kind) for option in options}) < len(options):
        raise NotAsked("Two options look the same.")
    if not request.call:
        raise NotAsked("The agent says nothing about what the tool call does.")
    contents = [request.call.get(name) for name in ("content", "locations")]
    parts = sum(len(content) for content in contents if isinstance(content, list))
    text = json.dumps([request.call, request.others], ensure_ascii=False, indent=1)
    if len(text) > MAX_CHARACTERS or text.count("\n") > MAX_LINES or parts > MAX_CONTENTS:
        raise NotAsked(
            f"The tool call has more than {MAX_CHARACTERS:,} characters, {MAX_LINES} lines of JSON "
            f"or {MAX_CONTENTS} parts, so people could not read the whole of it."
        )


def _shown(request: PermissionRequest) -> list[Block]:
    """Returns blocks that together show every member of the call."""
    rest = dict(request.call)
    shown = _input(rest.pop("rawInput", None))
    content, locations = rest.pop("content", []), rest.pop("locations", [])
    shown += [_content(each) for each in content] if isinstance(content, list) else []
    shown += [] if isinstance(content, list) else [blocks.json(content)]
    about = {
        "agent": request.agent,
        "title": rest.pop("title", None),
        "kind": rest.pop("kind", None),
        "tool": rest.pop("name", None),
        "locations": [*map(_location, locations)] if isinstance(locations, list) else locations,
        "folder": request.folder,
    }
    shown.append(blocks.pairs({name: value for name, value in about.items() if value}))
    others = {**rest, **request.others}
    return [*shown, blocks.pairs(others, title="Also in the request")] if others else shown


def _input(given: Any) -> list[Block]:
    """Returns the blocks of the tool's input. A command comes first."""
    if given is None:
        return []
    if not isinstance(given, dict):
        return [blocks.json(given, title="Input")]
    rest = dict(given)
    command = rest.pop("command", None) if isinstance(given.get("command"), str) else None
    shown = [] if command is None else [blocks.code(command, language="sh")]
    return [*shown, blocks.pairs(rest, title="Input")] if rest else shown


def _content(content: Any) -> Block:
    match content:
        case {"type": "diff", "path": str(path), "newText": str(after)} if not _others(
            content, "type", "path", "oldText", "newText"
        ):
            before = content.get("oldText")
            if isinstance(before, str):
                return blocks.diff(before, after, title=path)
            if before is None:
                return blocks.diff("", after, title=f"New file: {path}")
        case {"type": "content", "content": {"type": "text", "text": str(text)} as block} if not (
            _others(content, "type", "content") or _others(block, "type", "text")
        ):
            return blocks.text(text)
    return blocks.json(content)


def _location(location: Any) -> Any:
    match location:
        case {"path": str(path), "line": int(line)} if not _others(location, "path", "line"):
            return f"{path}:{line}"
        case {"path": str(path)} if not _others(location, "path", "line"):
            return path
    return location


def _others(given: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """Returns the members that are not known. `_meta` is not shown: by the protocol, no program may
    rely on it."""
    return {name: value for name, value in given.items() if name not in {*known, "_meta"}}


def _choice(request: PermissionRequest) -> Block:
    options = [
        blocks.option(
            str(number),
            option.name,
            text=EFFECTS[option.kind],
            recommended=option == request.only_allow_once,
        )
        for number, option in enumerate(request.options, 1)
    ]
    return blocks.choice("", options, name=PERMISSION)


def _line(text: str, longest: int) -> str:
    return shortened(visible(" ".join(text.split())) or "…", longest)
