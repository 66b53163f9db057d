"""What the redirect editor shows: where it begins, and what was typed into it so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inbox.changes import Changes, changes
from inbox.edits import (
    FIELDS,
    JSON,
    TEXT,
    Field,
    Original,
    as_typed,
    choice_of,
    chosen,
    fields,
    kind_of,
    typed_into,
    with_choice,
)
from wake.models import Delivery, Draft

RAW = "raw"
NOT_FLAT = "This no longer has the agent's own fields, so it stays in one piece."


@dataclass(frozen=True, slots=True)
class Editor:
    """With `fields`, one input each; else `text` in one area, sent as `kind` (json or text)."""

    fields: list[Field]
    text: str
    kind: str
    feedback: str
    can_be_fields: bool
    changes: Changes | None = None
    note: str = ""


def begin(
    delivery: Delivery, draft: Draft | None, *, feedback: str = "", choice: str = ""
) -> Editor:
    """From the person's draft, else from what the agent sent; with the option and the feedback that
    they gave elsewhere."""
    original = Original.of(delivery)
    content = (draft.edited_json if draft else None) or original.json
    offered = choice_of(original)
    if offered and offered.option(choice) and choice != chosen(original, content):
        content = with_choice(original, choice)
    shown = fields(original, content)
    return Editor(
        fields=shown,
        text=as_typed(content),
        kind=kind_of(content),
        feedback=feedback or (draft.feedback if draft else ""),
        can_be_fields=bool(shown),
        changes=_compared(original, content),
    )


def again(
    delivery: Delivery,
    data: Mapping[str, Any],
    *,
    edited_json: str | None,
    errors: Mapping[str, str],
    view: str = "",
) -> Editor:
    """What was typed stays as it is, unless the person asked for the other view and all of it was
    understood: as `edited_json`; `errors` is what was not, by the name of the field."""
    original = Original.of(delivery)
    own = fields(original)
    kind = data.get("edited_as") or original.kind
    shown = typed_into(own, data, errors=errors) if kind == FIELDS else []
    text, note = data.get("edited_content", ""), ""
    current = edited_json or original.json
    if errors:
        view = ""  # the other one would have the agent's words in place of these
    if view == RAW and kind == FIELDS:
        shown, text, kind = [], as_typed(current), JSON
    elif view == FIELDS and kind != FIELDS:
        shown = fields(original, current)
        note = "" if shown else NOT_FLAT
    return Editor(
        fields=shown,
        text=text,
        kind=TEXT if kind == TEXT else JSON,
        feedback=data.get("feedback", ""),
        can_be_fields=bool(own),
        changes=_compared(original, current),
        note=note,
    )


def _compared(original: Original, current: str | None) -> Changes:
    return changes(as_typed(original.json), as_typed(current))
