"""Turns the options and choices of `ask` into typed blocks (docs/protocol.md, Typed blocks).

`choices` is an argument of version 0.2. The tool no longer lists it, because `details` has choices,
too, but a call with it still works (docs/decisions/0079-tools-are-short.md).
"""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import ValidationError

from pages.characters.names import is_visible
from wake.api.serializers import LONGEST_LABEL, LONGEST_NAME, MAX_OPTIONS

MAX_CHOICES = 10
CHOICE, FIELD = "choice", "field"
Json = dict[str, Any]


def with_choices(details: Any, options: Any, choices: Any) -> Json:
    """Returns details as typed blocks: the sent blocks and the choices. Raises ValidationError."""
    asked = [] if options is None else [_block("options", {"options": options})]
    asked += [] if choices is None else _checked(choices)
    blocks = _typed_blocks(details)
    names = [block["name"] for block in asked] + _names_in(blocks or [])
    if len(set(names)) < len(names):
        raise ValidationError({"choices": ["Give each choice a name of its own."]})
    text = _in_words(asked)
    if blocks is not None:
        sent = details.get("text")
        text = f"{sent}\n{text}" if isinstance(sent, str) else text
        # The choices come first, because a page shows a limited number of blocks.
        return {**details, "text": text, "blocks": [*asked, *blocks]}
    return {"wake_blocks": 1, "text": text, "blocks": [*_as_block(details), *asked]}


def _typed_blocks(details: Any) -> list[Any] | None:
    """Returns the blocks of details that already are typed blocks, or None."""
    match details:
        case {"wake_blocks": 1, "blocks": list(blocks)}:
            return blocks
    return None


def _names_in(blocks: list[Any]) -> list[str]:
    """Returns the names under which the sent blocks ask for values."""
    inputs = [block for block in blocks if isinstance(block, dict)]
    names = [block.get("name", CHOICE) for block in inputs if block.get("type") == CHOICE]
    names += [block.get("name") for block in inputs if block.get("type") == FIELD]
    return list({name: None for name in names if isinstance(name, str)})


def _as_block(details: Any) -> list[Json]:
    if details is None:
        return []
    if isinstance(details, str):
        return [{"type": "markdown", "text": details}]
    return [{"type": "json", "value": details}]


def _checked(choices: Any) -> list[Json]:
    if not isinstance(choices, list) or not 1 <= len(choices) <= MAX_CHOICES:
        raise ValidationError({"choices": [f"Must be a list of 1 to {MAX_CHOICES} choices."]})
    return [_named(choice) for choice in choices]


def _named(choice: Any) -> Json:
    known = {"name", "label", "options", "multiple"}
    if not isinstance(choice, dict) or not {"name", "label", "options"} <= choice.keys() <= known:
        problem = "Each choice is an object with name, label, options and, if you like, multiple."
        raise ValidationError({"choices": [problem]})
    if not _is_line(choice["name"], LONGEST_NAME) or not _is_line(choice["label"], LONGEST_LABEL):
        problem = f"A name has 1 to {LONGEST_NAME} characters on one line, a label {LONGEST_LABEL}."
        raise ValidationError({"choices": [problem]})
    if not isinstance(choice.get("multiple", False), bool):
        raise ValidationError({"choices": ["multiple is true or false."]})
    return _block("choices", choice)


def _block(argument: str, choice: Json) -> Json:
    options = choice["options"]
    is_list = isinstance(options, list) and 1 <= len(options) <= MAX_OPTIONS
    lines = [each for each in options if _is_line(each, LONGEST_NAME)] if is_list else []
    if not lines or len(set(lines)) < len(options):
        problem = (
            f"Options are 1 to {MAX_OPTIONS} different texts of at most {LONGEST_NAME} characters "
            "on one line."
        )
        raise ValidationError({argument: [problem]})
    block = {"type": "choice", "name": CHOICE, **choice}
    return {**block, "options": [{"id": line, "label": line} for line in lines]}


def _is_line(text: Any, longest: int) -> bool:
    is_text = isinstance(text, str) and is_visible(text) and len(text) <= longest
    return is_text and text.splitlines() == [text]


def _in_words(choices: list[Json]) -> str:
    """Returns a plain version of the choices, for readers that do not know typed blocks."""
    lines: list[str] = []
    for choice in choices:
        lines += [choice["label"]] if "label" in choice else []
        lines += [option["label"] for option in choice["options"]]
    return "\n".join(lines)
