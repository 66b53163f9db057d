"""Shows choice blocks as radio buttons and checkboxes, and reads a person's clicks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inbox.answering.editing.edits import NOT_AN_OPTION, InvalidInput, Original, ticked
from inbox.rendering.blocks import Choice, Option
from inbox.rendering.json_text import read, written
from pages.characters.invisible import reveal_value

NOTHING_CHOSEN = "Choose at least one of the options, or “None of these”."


@dataclass(frozen=True, slots=True)
class Question:
    """Describes a choice block in a form. `chosen` has the selected options."""

    choice: Choice
    input_name: str
    chosen: list[Option]


def choices_of(original: Original) -> dict[str, Choice]:
    """Returns the choice blocks, each by the name of its input. An input does not have the name of
    its block, because the agent chose that name, and another field of the form could have the same
    name."""
    blocks = [block for block in original.controls.values() if isinstance(block, Choice)]
    return {f"choice-{place}" if place else "choice": block for place, block in enumerate(blocks)}


def questions(original: Original, values: Mapping[str, Any]) -> list[Question]:
    """Returns the choices that the form shows. `values` maps the name of each choice's block to the
    chosen value."""
    return [
        Question(choice, input_name, choice.chosen(values.get(choice.name)))
        for input_name, choice in choices_of(original).items()
    ]


def chosen(original: Original, edited_json: str | None) -> dict[str, Any]:
    """Returns the values that an edit chose, each by the name of its block. Without an edit,
    returns the values that the agent recommends."""
    edited = read(edited_json) if edited_json else None
    values = edited if isinstance(edited, dict) else original.proposed
    return {
        choice.name: values.get(choice.name)
        for choice in choices_of(original).values()
        if choice.accepts(values.get(choice.name))
    }


def clicked(original: Original, data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values that a form sent, each by the name of its block. Leaves out invalid
    values, and values that the form did not have."""
    values = {}
    for input_name, choice in choices_of(original).items():
        if input_name in data:
            value = _posted(choice, data, input_name)
            if choice.accepts(value):
                values[choice.name] = value
    return values


def all_clicked(original: Original, data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the person's choices, each by the name of its block. Raises InvalidInput if a choice
    is missing or was not shown, or if nothing was chosen.

    Checkboxes without a tick are null. An empty list would say "none of these", and a person who
    skipped the checkboxes did not say this."""
    return _complete(original, clicked(original, data))


def undecided(original: Original) -> str:
    """Returns why the proposal cannot be approved if the agent recommends no option. Otherwise
    returns an empty text. A `multiple` choice may stay open if another choice is made."""
    choices = choices_of(original).values()
    proposed = {each.name: each.value or ([] if each.is_multiple else None) for each in choices}
    try:
        if choices:
            _complete(original, proposed)
    except InvalidInput as error:
        return str(error)
    return ""


def _complete(original: Original, values: Mapping[str, Any]) -> dict[str, Any]:
    choices = choices_of(original)
    for choice in choices.values():
        if values.get(choice.name) is None:
            label = reveal_value(choice.label) if len(choices) > 1 else ""
            raise InvalidInput(f"{label}: {NOT_AN_OPTION}" if label else NOT_AN_OPTION)
    if not any(values.values()) and (choices or not original.controls):
        raise InvalidInput(NOTHING_CHOSEN if choices else NOT_AN_OPTION)
    return {name: value or None for name, value in values.items()}


def with_values(original: Original, values: Mapping[str, Any]) -> str:
    """Returns the proposal with these values. `values` maps the names of blocks to their values."""
    return written({**original.proposed, **values})


def _posted(choice: Choice, data: Mapping[str, Any], input_name: str) -> Any:
    """Returns the id, or the list of ids in the order of the options."""
    if not choice.is_multiple:
        return data[input_name]
    ids = ticked(data, input_name)
    known = [option.id for option in choice.chosen(ids)]
    return known if len(known) == len(ids) else ids
