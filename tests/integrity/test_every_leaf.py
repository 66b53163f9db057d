"""A page shows all texts of details: cells beyond the columns, members that a block does not know,
members beside the blocks, ends of titles and names.

Every text of generated details is in the visible text, or the page says what it leaves out.
"""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from inbox.rendering.blocks import controls, others_of_control
from inbox.rendering.details import RenderedDetails, render
from inbox.rendering.files import Files
from inbox.rendering.json_text import Number, written
from tests.integrity.leaves import (
    leaves,
    left_out_at_most,
    missing_leaves,
    missing_parts,
    visible_text,
)
from tests.integrity.values import OBJECTS, VALUES, WITH_BLOCKS

pytestmark = [pytest.mark.once, pytest.mark.slow]

MARK = re.compile("⟨[^⟨⟩]*⟩")  # beside words of several scripts
# Shrinking these takes minutes and shows little.
QUICK = (Phase.explicit, Phase.reuse, Phase.generate)
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


def rendered(value: Any, *, asked_for: str = "") -> RenderedDetails:
    details = render(written(value), asked_for=asked_for)
    assert details is not None
    return details


def shown(details: RenderedDetails) -> str:
    return details.plain or visible_text(details.html)


@given(OBJECTS | WITH_BLOCKS)
@settings(max_examples=120, deadline=None, phases=QUICK, suppress_health_check=SLOW)
def test_every_text_is_in_sight_or_named_as_left_out(value: Any) -> None:
    check(value, rendered(value))


@given(WITH_BLOCKS)
@settings(max_examples=60, deadline=None, phases=QUICK, suppress_health_check=SLOW)
def test_also_with_files_and_inputs_of_their_own(value: Any) -> None:
    details = render(written(value), inputs_apart=True, files=Files(UUID(int=1), {}))

    assert details is not None
    blocks = value["blocks"]
    by_place = controls(blocks)
    rest = [
        others_of_control(block, by_place[place]) if place in by_place else block
        for place, block in enumerate(blocks)
    ]
    check({**value, "blocks": rest}, details)


def check(value: Any, details: RenderedDetails) -> None:
    """Every text is in sight, or is one of the parts that are counted as left out."""
    missing = missing_leaves(value, shown(details))
    counted = left_out_at_most(details.left_out)
    if details.has_all_text:
        assert missing == []
    else:
        assert details.left_out
        assert counted is None or missing_parts(value, set(missing)) <= counted, missing


@given(st.text(" \t\n", min_size=1, max_size=9).filter(lambda text: text.count("\n") < 9))
@settings(max_examples=30, deadline=None)
def test_a_text_of_blanks_is_shown_as_blanks(blank: str) -> None:
    count = "1 blank character" if len(blank) == 1 else f"{len(blank)} blank characters"
    places: list[Any] = [
        {"a": blank},
        {blank: "a"},
        {"list": [blank]},
        {"rows": [{"a": blank, "b": 1}, {"a": "c", "b": 2}]},
        *(
            {"wake_blocks": Number("1"), "blocks": [block]}
            for block in (
                {"type": "text", "text": blank},
                {"type": "code", "text": blank},
                {"type": "code", "text": blank, "language": "sh"},
                {"type": "table", "columns": ["a"], "rows": [[blank]]},
                {"type": "kv", "items": {"a": blank}},
                {"type": "json", "value": blank},
                {"type": "hologram", "text": blank},
            )
        ),
    ]

    assert [place for place in places if count not in shown(rendered(place))] == []


def test_a_text_that_vanished_beside_what_is_counted_is_noticed() -> None:
    """As soon as a page leaves something out, the tests above would not notice a lost text by
    themselves."""
    value = {"a": "k10000001", "list": ["k10000002", "k10000003"]}

    assert missing_parts(value, {"k10000002", "k10000003"}) == 1
    assert missing_parts(value, {"k10000001", "k10000003"}) == 2
    assert left_out_at_most(("1 item of a list, in the raw view",)) == 1


@given(WITH_BLOCKS | OBJECTS)
@settings(max_examples=50, deadline=None, phases=QUICK, suppress_health_check=SLOW)
def test_the_raw_view_has_every_text(value: Any) -> None:
    raw = MARK.sub("", rendered(value, asked_for="raw").plain)

    assert [
        leaf for leaf in leaves(value) if written(Number(leaf)) not in raw and leaf.isalnum()
    ] == []


@given(st.lists(VALUES, min_size=10, max_size=40).map(lambda many: {"list": many * 50}))
@settings(max_examples=10, deadline=None, phases=QUICK, suppress_health_check=SLOW)
def test_what_is_too_long_is_named(value: Any) -> None:
    details = rendered(value)

    assert details.left_out
    assert not details.has_all_text
