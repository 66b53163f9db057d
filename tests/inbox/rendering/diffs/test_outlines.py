"""Two versions of an object are compared as outlines that people can read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inbox.rendering.diffs.outlines import outline, sides
from inbox.rendering.diffs.word_diffs import changes


def test_an_object_reads_as_names_and_values() -> None:
    content = {
        "title": "2.4 is here",
        "sections": [{"heading": "Exports", "text": "One.\nTwo."}, "plain"],
        "send_newsletter": False,
        "customer_id": 7,
        "note": None,
        "empty": [],
    }

    assert outline(json.dumps(content)) == (
        "Title: 2.4 is here\n"
        "Sections:\n"
        "  1.\n"
        "    Heading: Exports\n"
        "    Text: One.\n"
        "      Two.\n"
        "  2. plain\n"
        "Send newsletter: no\n"
        "Customer ID: 7\n"
        "Note: none\n"
        "Empty: empty"
    )


def test_a_number_keeps_its_spelling_and_a_text_stays_as_it_is() -> None:
    assert outline('{"share": 0.10}') == "Share: 0.10"
    assert outline('"# Report\\n\\nText"') == "# Report\n\nText"
    assert outline(None) == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": "1"}, {"a": 1}),
        ({"a": "yes"}, {"a": True}),
        ({"a": None}, {"a": "none"}),
        ({"a": {}}, {"a": []}),
        ({"an_id": 1}, {"An ID": 1}),
        ({"a": "x\nb: y"}, {"a": "x", "  b": "y"}),
    ],
)
def test_no_difference_is_hidden(before: Any, after: Any) -> None:
    assert changes(*sides(json.dumps(before), json.dumps(after)))


def test_a_changed_value_is_one_line_without_braces() -> None:
    before, after = ({"sections": [{"text": text}, {"text": "Same."}]} for text in ("Old.", "New."))

    old, new = sides(json.dumps(before), json.dumps(after))

    assert "    Text: Old." in old.splitlines()
    assert not set('{}[]"') & set(old + new)
