"""Reads typed blocks in details (docs/protocol.md, Typed blocks), and their questions and fields
for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from inbox.rendering.json_text import Number, read
from inbox.rendering.shapes import words
from pages.characters.look_alikes import label_look
from wake.api.serializers import LONGEST_LABEL, LONGEST_NAME, MAX_OPTIONS
from wake.blobs.references import may_have

VERSION = Number("1")
CHOICE = "choice"
TEXT, LONG, NUMBER, BOOLEAN = "text", "long", "number", "boolean"
MAX_BLOCKS = 100
MAX_FIELDS = 20
EMPTY: Mapping[str, Any] = {TEXT: "", LONG: "", NUMBER: None, BOOLEAN: False}


@dataclass(frozen=True, slots=True)
class Option:
    """Describes an option. `shown_id` is the id. People see the id, because the agent gets the id
    of the chosen option. `shown_id` is empty if the label is the same word."""

    id: str
    label: str
    text: str = ""
    is_recommended: bool = False
    shown_id: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """Describes a choice of one option, or of any number of options if the choice is `multiple`.
    Choosing the recommended options is an approval. Any other choice is a redirect."""

    name: str
    label: str
    options: tuple[Option, ...]
    is_multiple: bool = False

    @property
    def shown_name(self) -> str:
        return "" if self.name == CHOICE or _says(self.label, self.name) else self.name

    @property
    def value(self) -> str | list[str] | None:
        """Returns the id of the recommended option, the list of ids if there may be several, or
        None if there is none."""
        ids = [option.id for option in self.options if option.is_recommended]
        if self.is_multiple:
            return ids or None
        return ids[0] if ids else None

    def accepts(self, value: Any) -> bool:
        """Returns whether an edit may have this value: shown options, or null."""
        if self.is_multiple and isinstance(value, list):
            return len(self.chosen(value)) == len(value)
        return value is None or (not self.is_multiple and bool(self.chosen(value)))

    def chosen(self, value: Any) -> list[Option]:
        """Returns the options in a value, in the order in which they are shown."""
        ids = value if isinstance(value, list) else [value]
        return [option for option in self.options if option.id in ids]


@dataclass(frozen=True, slots=True)
class FieldBlock:
    """Holds a value that the agent proposes; `kind` is text, long, number or boolean."""

    name: str
    label: str
    kind: str
    value: str | Number | bool | None

    @property
    def shown_name(self) -> str:
        return "" if _says(self.label, self.name) else self.name


Control = Choice | FieldBlock


@dataclass(frozen=True, slots=True)
class RequestedInput:
    """Holds the inputs of the blocks by name; `fallback` is the proposal of details without
    inputs."""

    controls: dict[str, Control] = field(default_factory=dict)
    fallback: dict[str, Any] | str | None = None

    @property
    def proposal(self) -> dict[str, Any] | str | None:
        """Returns the value that an approval accepts, or None if the approval accepts everything
        that was sent."""
        if not self.controls:
            return self.fallback
        return {name: control.value for name, control in self.controls.items()}


def requested_input(details_json: str | None) -> RequestedInput:
    if not details_json or not may_have(details_json, "wake_blocks"):
        return RequestedInput()
    value = read(details_json)
    if (blocks := blocks_in(value)) is None:
        return RequestedInput()
    fallback = value.get("proposal")
    return RequestedInput(
        {control.name: control for control in controls(blocks).values()},
        fallback if isinstance(fallback, dict | str) else None,
    )


def blocks_in(value: Any) -> list[Any] | None:
    """Returns the blocks, or None if the details have none or have an unknown version."""
    match value:
        case {"wake_blocks": version, "blocks": list(blocks)} if version == VERSION:
            return blocks
    return None


def controls(blocks: list[Any]) -> dict[int, Control]:
    """Returns the inputs by the index of their block. The first block with a name wins."""
    controls_by_place: dict[int, Control] = {}
    names: set[str] = set()
    for place, block in enumerate(blocks[:MAX_BLOCKS]):
        control = _choice(block) or _field(block)
        if control and control.name not in names and len(names) <= MAX_FIELDS:
            controls_by_place[place] = control
            names.add(control.name)
    return controls_by_place


def _choice(block: Any) -> Choice | None:
    match block:
        case {"type": "choice", "options": list(entries)} if 0 < len(entries) <= MAX_OPTIONS:
            options = tuple(option for entry in entries if (option := _option(entry)))
        case _:
            return None
    name, is_multiple = block.get("name", CHOICE), block.get("multiple", False)
    if not (isinstance(name, str) and _is_name(name) and isinstance(is_multiple, bool)):
        return None
    ids = {option.id for option in options}
    recommended = sum(option.is_recommended for option in options)
    if len(ids) < len(entries) or (recommended > 1 and not is_multiple):
        return None
    label = block.get("label")
    label = label if isinstance(label, str) else ""
    return Choice(name, label, _with_ids(options), is_multiple)


def _option(entries: Any) -> Option | None:
    match entries:
        case {"id": str(id), "label": str(label)} if _is_name(id) and label.strip():
            text = entries.get("text")
            return Option(
                id=id,
                label=label,
                text=text if isinstance(text, str) else "",
                is_recommended=entries.get("recommended") is True,
            )
    return None


def _with_ids(options: tuple[Option, ...]) -> tuple[Option, ...]:
    """Shows the id of each option whose label is a different word, or equals the label of another
    option."""
    looks = Counter(label_look(option.label) for option in options)
    return tuple(
        option
        if _says(option.label, option.id) and looks[label_look(option.label)] == 1
        else replace(option, shown_id=option.id)
        for option in options
    )


def _says(label: str, name: str) -> bool:
    """Returns whether a label is the same word as a name."""
    return label_look(label) == label_look(words(name))


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
    return FieldBlock(name, label if isinstance(label, str) else name, kind, value)


def cut(text: str, longest: int = LONGEST_LABEL) -> str:
    """Returns at most this many characters. A cut text ends with "…"."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def others(block: dict[str, Any], *shown: str) -> dict[str, Any]:
    """Returns the members of a block, except its type and the members that are shown."""
    return {name: value for name, value in block.items() if name not in {"type", *shown}}


def others_of_control(block: dict[str, Any], control: Control) -> dict[str, Any]:
    """Returns the members that the input of a block does not show."""
    label = ["label"] if isinstance(block.get("label"), str) else []
    if isinstance(control, FieldBlock):
        return others(block, "name", "kind", "value", *label)
    members = others(block, "name", "options", "multiple", *label)
    if options := [rest for entry in block["options"] if (rest := _others_of_option(entry))]:
        members["options"] = options
    return members


def _others_of_option(entry: dict[str, Any]) -> dict[str, Any]:
    texts = ["text"] if isinstance(entry.get("text"), str) else []
    flags = ["recommended"] if isinstance(entry.get("recommended"), bool) else []
    rest = others(entry, "id", "label", *texts, *flags)
    if "type" in entry:
        rest["type"] = entry["type"]
    return {"id": entry["id"], **rest} if rest else {}


def _is_name(text: str) -> bool:
    """Returns whether the name is short and is one line. A form would change line ends in a
    name."""
    return len(text) <= LONGEST_NAME and text.splitlines() == [text]


def fits(kind: str, value: Any) -> bool:
    """Returns whether a field of this kind accepts this value, in the form that `json_text.read`
    returns."""
    if kind == NUMBER:
        return value is None or isinstance(value, Number)
    return isinstance(value, bool if kind == BOOLEAN else str)
