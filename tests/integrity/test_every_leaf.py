"""Details had texts that no page showed: cells beyond the columns, members that a block does not
know, members beside the blocks, ends of titles and names.

Every text of generated details is in the visible text, or the page says what it leaves out.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from inbox.rendering.details import Details, render
from inbox.rendering.json_text import Number, written
from tests.integrity.leaves import leaves, missing_leaves, visible_text
from tests.integrity.values import OBJECTS, VALUES, WITH_BLOCKS

pytestmark = [pytest.mark.once, pytest.mark.slow]

# Shrinking these takes minutes, and tells little.
QUICK = (Phase.explicit, Phase.reuse, Phase.generate)
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


def rendered(value: Any, *, asked_for: str = "") -> Details:
    details = render(written(value), asked_for=asked_for)
    assert details is not None
    return details


def shown(details: Details) -> str:
    return details.plain or visible_text(details.html)


@given(OBJECTS | WITH_BLOCKS)
@settings(max_examples=120, deadline=None, phases=QUICK, suppress_health_check=SLOW)
def test_every_text_is_in_sight_or_named_as_left_out(value: Any) -> None:
    details = rendered(value)

    if details.has_all_text:
        assert missing_leaves(value, shown(details)) == []
    else:
        assert details.left_out


@given(WITH_BLOCKS | OBJECTS)
@settings(max_examples=50, deadline=None, phases=QUICK, suppress_health_check=SLOW)
def test_the_raw_view_has_every_text(value: Any) -> None:
    raw = rendered(value, asked_for="raw").plain

    assert [
        leaf for leaf in leaves(value) if written(Number(leaf)) not in raw and leaf.isalnum()
    ] == []


@given(st.lists(VALUES, min_size=10, max_size=40).map(lambda many: {"list": many * 50}))
@settings(max_examples=10, deadline=None, phases=QUICK, suppress_health_check=SLOW)
def test_what_is_too_long_is_named(value: Any) -> None:
    details = rendered(value)

    assert details.left_out
    assert not details.has_all_text
