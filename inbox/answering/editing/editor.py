"""Builds the content of the redirect editor: the original, or the text that was typed so far."""

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
    fields,
    kind_of,
    readable_values,
    typed_into,
)
from inbox.rendering.diffs.outlines import sides
from inbox.rendering.diffs.word_diffs import Changes, changes
from inbox.rendering.json_text import as_typed, read
from pages.characters.invisible import reveal_value
from wake.models import Delivery, Draft

RAW = "raw"
NOT_FLAT = "Can't show fields: the edit no longer matches the agent's fields."


@dataclass(frozen=True, slots=True)
class Editor:
    """Describes the inputs of the editor. Each of `fields` has one input. Without fields, `text` is
    one text area that is sent as `kind` (json or text)."""

    fields: list[Field]
    text: str
    kind: str
    feedback: str
    can_be_fields: bool
    changes: Changes | None = None
    note: str = ""

    @property
    def revealed(self) -> str:
        """Returns the text with its invisible characters named, or an empty text if it has none."""
        revealed = reveal_value(self.text)
        return revealed if revealed != self.text else ""


def begin(delivery: Delivery, draft: Draft | None, data: Mapping[str, Any]) -> Editor:
    """Starts from the person's draft, or from the agent's content if there is no draft. Adds the
    options and the feedback from the delivery's page (`data`). An input shows the text that was
    typed into it, even if the text is not a valid value yet."""
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
    """Returns the content with the options and the values from the delivery's page. A value that
    cannot be read stays unchanged."""
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
    """Keeps the typed text, and switches to the other view if the person asked for it and the edit
    is valid.

    `edited_json` is the valid edit; `errors` maps the name of a field to its error.
    """
    original = Original.of(delivery)
    original_fields = fields(original)
    kind = data.get("edited_as") or original.kind
    inputs = typed_into(original_fields, data, errors=errors) if kind == FIELDS else []
    text, note = data.get("edited_content", ""), ""
    current = edited_json or original.json
    if errors:
        view = ""  # switching to the other view would lose the typed text
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
    """Compares the edit with the original in the form in which the person edits: as fields, or as
    text."""
    if as_fields:
        return changes(*sides(original.json, current))
    return changes(as_typed(original.json), as_typed(current))
