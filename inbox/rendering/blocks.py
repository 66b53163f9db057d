"""Typed blocks inside details (docs/protocol.md, Typed blocks): which there are, and what they ask
a person to choose and to fill in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inbox.json_text import Number, read

VERSION = Number("1")
CHOICE = "choice"
TEXT, LONG, NUMBER, BOOLEAN = "text", "long", "number", "boolean"
MOST_BLOCKS = 100
MOST_OPTIONS = 12
MOST_FIELDS = 20
LONGEST_NAME = 64
LONGEST_LABEL = 200
EMPTY: Mapping[str, Any] = {TEXT: "", LONG: "", NUMBER: None, BOOLEAN: False}


@dataclass(frozen=True, slots=True)
class Option:
    id: str
    label: str
    text: str = ""
    is_recommended: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A person picks one; what the agent recommends is an approval, anything else a redirect."""

    label: str
    options: list[Option]
    name: str = CHOICE

    @property
    def recommended(self) -> str | None:
        return next((option.id for option in self.options if option.is_recommended), None)

    @property
    def value(self) -> str | None:
        return self.recommended

    def option(self, id: object) -> Option | None:
        return next((option for option in self.options if option.id == id), None)


@dataclass(frozen=True, slots=True)
class FieldBlock:
    """A value that the agent proposes; `kind` is text, long, number or boolean."""

    name: str
    label: str
    kind: str
    value: str | Number | bool | None


Control = Choice | FieldBlock


@dataclass(frozen=True, slots=True)
class Asked:
    """What the blocks ask for, by the names that an edit gives back; `offered` is what they propose
    where they ask for nothing by name."""

    controls: dict[str, Control] = field(default_factory=dict)
    offered: dict[str, Any] | str | None = None

    @property
    def choice(self) -> Choice | None:
        return next((one for one in self.controls.values() if isinstance(one, Choice)), None)

    @property
    def proposal(self) -> dict[str, Any] | str | None:
        """What an approval agrees to; None where that is all that was sent."""
        if not self.controls:
            return self.offered
        return {name: control.value for name, control in self.controls.items()}


def asked(details_json: str | None) -> Asked:
    if not details_json or '"wake_blocks"' not in details_json:
        return Asked()
    value = read(details_json)
    if (blocks := blocks_in(value)) is None:
        return Asked()
    offered = value.get("proposal")
    return Asked(
        {control.name: control for control in controls(blocks).values()},
        offered if isinstance(offered, dict | str) else None,
    )


def blocks_in(value: Any) -> list[Any] | None:
    """None where the details are of no blocks, or of a version that is not known here."""
    match value:
        case {"wake_blocks": version, "blocks": list(blocks)} if version == VERSION:
            return blocks
    return None


def controls(blocks: list[Any]) -> dict[int, Control]:
    """By the place of its block. Each name once, and so one choice: the first that can be read."""
    found: dict[int, Control] = {}
    names: set[str] = set()
    for place, block in enumerate(blocks[:MOST_BLOCKS]):
        control = _choice(block) or _field(block)
        if control and control.name not in names and len(names) <= MOST_FIELDS:
            found[place] = control
            names.add(control.name)
    return found


def _choice(block: Any) -> Choice | None:
    match block:
        case {"type": "choice", "options": list(given)} if 0 < len(given) <= MOST_OPTIONS:
            options = [option for one in given if (option := _option(one))]
        case _:
            return None
    ids = {option.id for option in options}
    recommended = sum(option.is_recommended for option in options)
    if len(ids) < len(given) or recommended > 1:
        return None
    label = block.get("label")
    return Choice(label[:LONGEST_LABEL] if isinstance(label, str) else "", options)


def _option(given: Any) -> Option | None:
    match given:
        case {"id": str(id), "label": str(label)} if _is_name(id) and label.strip():
            text = given.get("text")
            return Option(
                id=id,
                label=label[:LONGEST_LABEL],
                text=text if isinstance(text, str) else "",
                is_recommended=given.get("recommended") is True,
            )
    return None


def _field(block: Any) -> FieldBlock | None:
    match block:
        case {"type": "field", "name": str(name)} if _is_name(name):
            kind = block.get("kind", TEXT)
            label = block.get("label")
        case _:
            return None
    if not isinstance(kind, str) or kind not in EMPTY:
        return None
    value = block.get("value", EMPTY[kind])
    if not fits(kind, value):
        return None
    return FieldBlock(name, label[:LONGEST_LABEL] if isinstance(label, str) else name, kind, value)


def _is_name(text: str) -> bool:
    """On one line: a form would send every line end as another."""
    return len(text) <= LONGEST_NAME and text.splitlines() == [text]


def fits(kind: str, value: Any) -> bool:
    """Whether a field of this kind can have this value, as `json_text.read` gives it."""
    if kind == NUMBER:
        return value is None or isinstance(value, Number)
    return isinstance(value, bool if kind == BOOLEAN else str)
