"""Builds what the redirect editor shows: the original, or what was typed into it so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inbox.answering.editing.choices import chosen, clicked, with_values
from inbox.answering.editing.edits import (
    FIELDS,
    JSON,
    TEXT,
    Field,
    Original,
    as_typed,
    fields,
    kind_of,
    readable_values,
    typed_into,
)
from inbox.answering.editing.word_diffs import Changes, changes
from inbox.rendering.json_text import read
from inbox.rendering.outlines import sides
from pages.characters.invisible import reveal
from wake.models import Delivery, Draft

RAW = "raw"
NOT_FLAT = "Can't show fields: the edit no longer matches the agent's fields."


@dataclass(frozen=True, slots=True)
class Editor:
    """Describes the inputs of the editor. `fields` has one input each; without them, `text` is one
    text area sent as `kind` (json or text)."""

    fields: list[Field]
    text: str
    kind: str
    feedback: str
    can_be_fields: bool
    changes: Changes | None = None
    note: str = ""

    @property
    def revealed(self) -> str:
        """Returns the text with its invisible characters named; empty if it has none."""
        revealed = reveal(self.text)
        return revealed if revealed != self.text else ""


def begin(delivery: Delivery, draft: Draft | None, data: Mapping[str, Any]) -> Editor:
    """Starts from the person's draft, else from what the agent sent, with the options and the
    feedback that they gave on the delivery's page (`data`). An input shows what was typed there,
    also if it cannot be read yet."""
    original = Original.of(delivery)
    content = (draft.edited_json if draft else None) or original.json
    content = _with_inputs(original, content, data)
    inputs = typed_into(fields(original, content), data, errors={})
    return Editor(
        fields=inputs,
        text=as_typed(content),
        kind=kind_of(content),
        feedback=data.get("feedback", "") or (draft.feedback if draft else ""),
        can_be_fields=bool(inputs),
        changes=_compared(original, content, as_fields=bool(inputs)),
    )


def _with_inputs(original: Original, content: str | None, data: Mapping[str, Any]) -> str | None:
    """Returns the content with the options and the values that the delivery's page sent; a value
    that cannot be read stays as it was."""
    inputs = clicked(original, data) | readable_values(original, data)
    value = read(content) if content else None
    current = {**original.proposed, **(value if isinstance(value, dict) else {})}
    if all(current.get(name) == given for name, given in inputs.items()):
        return content
    return with_values(original, {**chosen(original, content), **inputs})


def again(
    delivery: Delivery,
    data: Mapping[str, Any],
    *,
    edited_json: str | None,
    errors: Mapping[str, str],
    view: str = "",
) -> Editor:
    """Keeps what was typed, and switches to the other view if the person asked and the edit is
    valid.

    `edited_json` is the valid edit; `errors` maps the name of a field to its error.
    """
    original = Original.of(delivery)
    original_fields = fields(original)
    kind = data.get("edited_as") or original.kind
    inputs = typed_into(original_fields, data, errors=errors) if kind == FIELDS else []
    text, note = data.get("edited_content", ""), ""
    current = edited_json or original.json
    if errors:
        view = ""  # the other view would replace what was typed
    if view == RAW and kind == FIELDS:
        inputs, text, kind = [], as_typed(current), JSON
    elif view == FIELDS and kind != FIELDS:
        inputs = fields(original, current)
        note = "" if inputs else NOT_FLAT
    return Editor(
        fields=inputs,
        text=text,
        kind=TEXT if kind == TEXT else JSON,
        feedback=data.get("feedback", ""),
        can_be_fields=bool(original_fields),
        changes=_compared(original, current, as_fields=bool(inputs)),
        note=note,
    )


def _compared(original: Original, current: str | None, *, as_fields: bool) -> Changes:
    """Compares in the form that the person edits."""
    if as_fields:
        return changes(*sides(original.json, current))
    return changes(as_typed(original.json), as_typed(current))
