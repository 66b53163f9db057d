"""The page of a question shows every argument whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inbox.rendering.details import render
from tests.client.adapters.conftest import refund
from tests.integrity.leaves import visible_text
from wake_client.adapters import AskOptions
from wake_client.adapters.questions import MAX_CHARACTERS, MAX_LONG, is_too_long, question


@pytest.mark.parametrize(
    "arguments",
    [
        {"order": "A-1042", "cents": 18_000, "quick": True, "note": None, "last": "end17"},
        {"body": "first line\nsecond line\n" * 300, "to": "end17"},
        {"body": "word " * 3_800 + "end17"},
        {f"name-{number}": number for number in range(290)} | {"last": "end17"},
        {f"name-{number}": "a\nb" for number in range(MAX_LONG + 5)} | {"last": "end17"},
        {f"name-{number}": "a\nb" for number in range(MAX_LONG)} | {"last": "end17"},
        {"items": [{"id": number, "to": "x"} for number in range(90)], "last": "end17"},
        {"rows": [[number] for number in range(140)], "last": "end17"},
        {"deep": {"a": {"b": {"c": ["d", {"e": "end17"}]}}}},
        {"framework": "other", "tool": "end17"},
        {"n" * 300: "end17"},
        {"n" * 300: "end17\n"},
        {"": "end17\n"},
        {"a" * 10 + "\n" + "b": "end17"},
    ],
    ids=lambda arguments: str(arguments)[:30],
)
def test_every_argument_is_on_the_page_whole(arguments: dict[str, Any]) -> None:
    call = refund(**arguments)
    assert not is_too_long(call)

    asked = question(call, AskOptions(), digest=True)
    rendered = render(json.dumps(asked["optional"]["details"]))

    assert rendered is not None
    assert rendered.has_all_text
    assert "end17" in visible_text(rendered.html)


@pytest.mark.parametrize(
    ("arguments", "is_long"),
    [
        ({"a": "x" * (MAX_CHARACTERS - 9)}, False),
        ({"a": "x" * (MAX_CHARACTERS - 8)}, True),
        ({"a": [0] * 298}, False),
        ({"a": [0] * 299}, True),
    ],
)
def test_longer_calls_are_not_asked_about(arguments: dict[str, Any], is_long: bool) -> None:
    assert is_too_long(refund(**arguments)) is is_long


def test_the_words_of_a_tool_are_one_line_each() -> None:
    options = AskOptions(headline=lambda call: f"Refund\n{call.arguments['to']}?", summary=str)

    asked = question(refund(to="x\u202e" + "y" * 200), options, digest=False)

    assert asked["headline"].startswith("Refund x⟨U+202E⟩y")
    assert len(asked["headline"]) == 120
    assert len(asked["summary"]) == 280
    assert "digest" not in {name for name, value in asked["optional"].items() if value is not None}
