"""Turns an agent's content into inputs, and a person's text into an edit."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

from django.utils.datastructures import MultiValueDict

from inbox.rendering.blocks import (
    BOOLEAN,
    CHOICE,
    LONG,
    NUMBER,
    Choice,
    Control,
    FieldBlock,
    Option,
    fits,
    requested_input,
)
from inbox.rendering.json_text import Number, read, written
from inbox.rendering.shapes import words
from pages.characters.invisible import reveal_value
from wake.api.parsers import Malformed, parse_strictly
from wake.models import Delivery
from wake.responses import BadEdit

FIELDS, JSON, TEXT = "fields", "json", "text"
LINES, YES_OR_NO, NOTHING = "lines", "yes-or-no", "nothing"
SEVERAL = "several"
INPUTS = {LONG: LINES, BOOLEAN: YES_OR_NO}
MAX_FIELDS = 12
# The number of the widest letters that fit the narrowest phone. An input would hide the end of a
# longer text, but a text area does not.
ONE_LINE = 24
MAX_ROWS = 20
NOT_AN_OPTION = "Choose one of the options."


class InvalidInput(Exception):
    """The typed text or the choice is not valid yet; `field` is the form's field."""

    def __init__(self, message: str, field: str = "edited_content") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Field:
    """Describes the input for one member of a flat object. `kind` is text, lines, number,
    yes-or-no, choice, several (with the chosen ids in `values`) or nothing."""

    name: str
    key: str
    kind: str
    value: str
    label: str
    shown_name: str = ""
    options: tuple[Option, ...] = ()
    values: tuple[str, ...] = ()
    error: str = ""

    @property
    def revealed(self) -> str:
        """Returns the value with its invisible characters named. Also returns the value if the
        input may hide the end of the value. Returns an empty text if the input shows the whole
        value."""
        revealed = reveal_value(self.value)
        is_hidden = self.kind in {NUMBER, TEXT, NOTHING} and not _fits_one_line(self.value)
        return revealed if is_hidden or revealed != self.value else ""

    @property
    def rows(self) -> int:
        """Returns the height of a text area, for browsers that cannot fit it to its text."""
        lines = self.value.split("\n")
        return min(sum(1 + len(line) // ONE_LINE for line in lines), MAX_ROWS)


@dataclass(frozen=True, slots=True)
class Original:
    """Holds the value that an edit begins with. Without blocks that ask for values, the value is
    all of the agent's content. With such blocks, the value has only what the blocks propose.

    `controls` maps each name to its block. `is_proposal` is True if the details contain more than
    the proposal.
    """

    json: str | None
    controls: Mapping[str, Control]
    is_proposal: bool = False

    @classmethod
    def of(cls, delivery: Delivery) -> Self:
        form = requested_input(delivery.details_json)
        if form.proposal is None:
            return cls(delivery.details_json, form.controls)
        return cls(written(form.proposal), form.controls, is_proposal=True)

    @property
    def proposed(self) -> dict[str, Any]:
        """Returns the values that the blocks propose, by name."""
        return {name: control.value for name, control in self.controls.items()}

    @property
    def kind(self) -> str:
        """Returns the type of the original, which an edit keeps unless the person switches."""
        return kind_of(self.json)


def kind_of(content_json: str | None) -> str:
    return JSON if (content_json or "").lstrip().startswith("{") else TEXT


def fields(original: Original, current_json: str | None = None) -> list[Field]:
    """Returns one field for each member, or an empty list if the object is not flat, is too large,
    or no longer has the original's structure."""
    before = _flat(original)
    current = before if current_json is None else _flat(original, current_json)
    shape = [(key, _kind(original, key, value)) for key, value in before.items()]
    if shape != [(key, _kind(original, key, value)) for key, value in current.items()]:
        return []
    return [
        _field(original, f"field-{number}", key, value)
        for number, (key, value) in enumerate(current.items())
    ]


def _field(original: Original, name: str, key: str, value: Any) -> Field:
    control = original.controls.get(key)
    kind = _kind(original, key, value)
    if kind == TEXT and not _fits_one_line(value):
        kind = LINES
    return Field(
        name=name,
        key=key,
        kind=kind,
        value=_as_input(value),
        label=(control.label if control else "") or words(key),
        shown_name=control.shown_name if control else "",
        options=control.options if isinstance(control, Choice) else (),
        values=tuple(value or ()) if kind == SEVERAL else (),
    )


def _fits_one_line(text: str) -> bool:
    return (
        len(text) <= ONE_LINE
        and len(unicodedata.normalize("NFKC", text)) <= ONE_LINE
        and text.splitlines() in ([], [text])
    )


def typed_into(
    fields: list[Field], data: Mapping[str, Any], *, errors: Mapping[str, str]
) -> list[Field]:
    """Returns the same fields with the person's text and the errors in it. `data` and `errors` have
    the names of the fields as keys."""
    return [
        replace(
            field,
            value=data.get(field.name, field.value),
            values=_ticked(field, data),
            error=errors.get(field.name, ""),
        )
        for field in fields
    ]


def proposed_fields(original: Original, current_json: str | None = None) -> list[Field]:
    """Returns the inputs for the values that field blocks propose, without the choices."""
    shown = fields(original, current_json) or fields(original)
    return [field for field in shown if isinstance(original.controls.get(field.key), FieldBlock)]


def typed_values(original: Original, data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values that a form sent for the proposed fields, each by the name of its block.
    Raises InvalidInput."""
    return {field.key: _typed_value(original, field, data) for field in _sent(original, data)}


def readable_values(original: Original, data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the same values, without the values that cannot be read."""
    values = {}
    for field in _sent(original, data):
        with suppress(InvalidInput):
            values[field.key] = _typed_value(original, field, data)
    return values


def _sent(original: Original, data: Mapping[str, Any]) -> list[Field]:
    return [field for field in proposed_fields(original) if field.name in data]


def _typed_value(original: Original, field: Field, data: Mapping[str, Any]) -> Any:
    return read(_literal(field, original.proposed[field.key], data[field.name]))


def edited_json(original: Original, *, kind: str, text: str, data: Mapping[str, Any]) -> str | None:
    """Returns the JSON text of the edit, or None if nothing changed. Raises InvalidInput."""
    text = text.replace("\r\n", "\n")
    edit: str | None
    if kind == FIELDS:
        edit = _assembled(original, data)
    elif kind == TEXT:
        edit = json.dumps(_with_line_ends(original, text), ensure_ascii=False) if text else None
    else:
        edit = _checked(text.strip(), original) if text.strip() else None
    return None if edit is None or is_same(edit, original.json) else edit


def _assembled(original: Original, data: Mapping[str, Any]) -> str:
    members = _flat(original)
    if not members:
        raise InvalidInput("This can't be edited as fields. Use Raw JSON.")
    lines = []
    for field, value in zip(fields(original), members.values(), strict=True):
        if field.kind == SEVERAL:
            literal = _list(field, value, _ticked(field, data))
        else:
            literal = _literal(field, value, data.get(field.name))
        lines.append(f"  {json.dumps(field.key, ensure_ascii=False)}: {literal}")
    return "{\n" + ",\n".join(lines) + "\n}"


def _literal(field: Field, original: Any, typed: Any) -> str:
    """Returns the JSON of one member. Unchanged members keep the agent's spelling."""
    text = field.value if typed is None else str(typed).replace("\r\n", "\n")
    if text == field.value.replace("\r\n", "\n"):
        return str(original) if isinstance(original, Number) else json.dumps(original)
    if field.kind == YES_OR_NO and text in {"true", "false"}:
        return text
    if field.kind == NUMBER:
        return _number(text.strip(), field)
    if field.kind == CHOICE and text not in {option.id for option in field.options}:
        raise InvalidInput(NOT_AN_OPTION, field.name)
    return json.dumps(text, ensure_ascii=False)


def _list(field: Field, original: Any, ticked: tuple[str, ...]) -> str:
    """Returns the ids in the order of the options. Without a tick, an original null stays null."""
    ids = [option.id for option in field.options if option.id in ticked]
    if len(ids) < len(ticked):
        raise InvalidInput(NOT_AN_OPTION, field.name)
    return json.dumps(ids or (None if original is None else []), ensure_ascii=False)


def _ticked(field: Field, data: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(ticked(data, field.name)) if field.name in data else field.values


def ticked(data: Mapping[str, Any], name: str) -> list[str]:
    """Returns the values of the ticked checkboxes. The checkboxes come with a hidden empty input,
    so that a form without a tick differs from a form without the checkboxes."""
    values = data.getlist(name) if isinstance(data, MultiValueDict) else data[name]
    return [value for value in (values if isinstance(values, list) else [values]) if value]


def _number(typed: str, field: Field) -> str:
    try:
        value = parse_strictly(typed.encode())
    except Malformed:
        value = None
    if type(value) not in {int, float}:
        raise InvalidInput(f"Enter a number for {field.label}, such as 12 or 0.5.", field.name)
    return typed


def _checked(text: str, original: Original) -> str:
    try:
        value = parse_strictly(text.encode())
    except Malformed as error:
        raise InvalidInput(str(error)) from None
    if not isinstance(value, dict | str):
        raise InvalidInput(str(BadEdit.__doc__))
    for name, control in original.controls.items():
        value_of_choice = value.get(name) if isinstance(value, dict) else None
        if isinstance(control, Choice) and not control.accepts(value_of_choice):
            raise InvalidInput(NOT_AN_OPTION)
    return text


def is_same(edit: str, original_json: str | None) -> bool:
    return original_json is not None and read(edit) == read(original_json)


def _with_line_ends(original: Original, text: str) -> str:
    """Restores the agent's line ends, because a form sends every line end as CRLF."""
    before = json.loads(original.json) if original.json and original.kind == TEXT else ""
    return text.replace("\n", "\r\n") if "\r\n" in before else text


def _flat(original: Original, content_json: str | None = None) -> dict[str, Any]:
    """Returns the members of a small object if each value fits one input. Otherwise returns an
    empty mapping. Reads the original if `content_json` is not given."""
    content_json = content_json or original.json
    value = read(content_json) if content_json else None
    if not isinstance(value, dict) or len(value) > max(MAX_FIELDS, len(original.controls)):
        return {}
    is_flat = all(_is_scalar(original.controls.get(key), child) for key, child in value.items())
    return value if is_flat else {}


def _is_scalar(control: Control | None, value: Any) -> bool:
    """Returns whether the value fits one input. The chosen options of a choice also fit one
    input."""
    is_choice = isinstance(control, Choice) and control.accepts(value)
    return is_choice or not isinstance(value, dict | list)


def _kind(original: Original, key: str, value: Any) -> str:
    """Returns the kind that the block names; without a block, the kind of the value."""
    control = original.controls.get(key)
    if isinstance(control, Choice):
        kind = SEVERAL if control.is_multiple else CHOICE
        return kind if control.accepts(value) else NOTHING
    if control is not None:
        return INPUTS.get(control.kind, control.kind) if fits(control.kind, value) else NOTHING
    if isinstance(value, Number):
        return NUMBER
    if isinstance(value, bool):
        return YES_OR_NO
    return NOTHING if value is None else TEXT


def _as_input(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
