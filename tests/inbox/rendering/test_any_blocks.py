"""Any JSON in the place of a block can be shown and edited without an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inbox.answering.editing.edits import FIELDS, InvalidInput, Original, edited_json, fields
from inbox.rendering.blocks import Choice
from inbox.rendering.details import TAGS, render
from tests.inbox.rendering.test_blocks import OWN
from tests.inbox.rendering.test_details import Seen
from wake.models import Delivery

pytestmark = pytest.mark.once

KEYS = ["type", "text", "title", "language", "before", "after", "columns", "rows", "items"]
KEYS += ["value", "url", "label", "options", "id", "recommended", "name", "kind", "multiple"]
KEYS += ["labels", "series", "values"]
KINDS = ["markdown", "text", "code", "diff", "table", "kv", "json", "link", "choice", "field"]
KINDS += ["chart", "line", "bar"]
WORDS = st.sampled_from(
    [*KINDS, "number", "long", "", "a", "<b>", "@@ -1 +1 @@\n-a\n+b", "https://a.example/", "🙂"]
)
SCALARS = st.none() | st.booleans() | st.integers() | WORDS
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | WORDS, inner, max_size=4)
    ),
    max_leaves=6,
)
BLOCKS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(KINDS)},
        optional=dict.fromkeys(KEYS[1:], VALUES),
    )
    | VALUES,
    max_size=3,
)


def details_of(blocks: Any) -> str:
    return json.dumps({"wake_blocks": 1, "blocks": blocks})


@given(BLOCKS)
@settings(max_examples=60, deadline=None)
def test_any_blocks_are_rendered(blocks: Any) -> None:
    rendered = render(details_of(blocks))

    assert rendered is not None
    parsed = Seen(rendered.html)
    assert parsed.elements <= TAGS | OWN
    assert all(link.startswith(("http://", "https://", "mailto:")) for link in parsed.links)


@given(BLOCKS, st.dictionaries(st.sampled_from([f"field-{n}" for n in range(4)]), WORDS))
@settings(max_examples=60, deadline=None)
def test_requested_inputs_can_be_edited(blocks: Any, typed: dict[str, str]) -> None:
    delivery = Delivery(details_json=details_of(blocks))
    original = Original.of(delivery)
    if not original.controls:
        return

    assert [field.key for field in fields(original)] == list(original.controls)
    try:
        rendered = edited_json(original, kind=FIELDS, text="", data=typed)
    except InvalidInput:
        return
    if rendered is not None:
        edited = json.loads(rendered)
        assert list(edited) == list(original.controls)
        for name, control in original.controls.items():
            assert not isinstance(control, Choice) or control.accepts(edited[name])
