"""Chromium shows every text of generated details, or the page says what it leaves out. The tests
look at the page in light and dark, on a desktop and on a phone, with and without JavaScript.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Locator

from accounts.models import User
from inbox.rendering.json_text import written
from tests.browser.screen import Open, Screen
from tests.integrity.leaves import missing_leaves
from tests.integrity.markdown_texts import MARKDOWN, words_in, words_of
from tests.integrity.patches import PATCHES
from tests.integrity.values import OBJECTS, WITH_BLOCKS
from tests.types import MakeDelivery
from wake.models import Delivery

pytestmark = [pytest.mark.system, pytest.mark.once]

VISIBLE_TEXT = (Path(__file__).parent / "sight.js").read_text()
EXAMPLES = 60
ON_A_PAGE = 30
LEFT_OUT = "Not shown here:"
DETAILS: st.SearchStrategy[Any] = st.one_of(WITH_BLOCKS, WITH_BLOCKS, OBJECTS, MARKDOWN, PATCHES)


def generated(count: int) -> list[Any]:
    """Returns `count` different details. Each run of the tests generates other details."""
    collected: list[Any] = []

    @given(DETAILS)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def collect(details: Any) -> None:
        collected.append(details)

    collect()
    return collected


def missing(details: Any, text: str) -> list[str]:
    if not isinstance(details, str):
        return missing_leaves(details, text)
    lost: Counter[str] = words_of(details) - words_in(text)
    return sorted(lost) if lost else []


def frames(screen: Screen, deliveries: list[Delivery]) -> dict[Delivery, Locator]:
    """Opens the deliveries that fit together on the page of a batch, and yields their frames."""
    query = "&".join(f"id={delivery.pk}" for delivery in deliveries)
    page = screen.go(f"/batch/?{query}")
    return {
        delivery: frame
        for delivery in deliveries
        if (frame := page.locator(f"#item-{delivery.pk} .untrusted")).count()
    }


@pytest.mark.parametrize(
    ("scripts", "scheme", "width"),
    [(True, "light", 390), (True, "dark", 1280), (False, "light", 1280), (False, "dark", 390)],
)
def test_every_text_is_in_sight_or_named_as_left_out(
    open_browser: Open,
    alice: User,
    make_delivery: MakeDelivery,
    scripts: bool,
    scheme: str,
    width: int,
) -> None:
    screen = open_browser(alice, scripts=scripts, scheme=scheme, width=width)
    made = {
        make_delivery(type="output", details_json=written(details)): details
        for details in generated(EXAMPLES)
    }
    rest = iter(made)
    alone: list[Delivery] = []

    while group := list(islice(rest, ON_A_PAGE)):
        shown = frames(screen, group)
        alone += [delivery for delivery in group if delivery not in shown]
        for delivery, frame in shown.items():
            _check(made[delivery], frame)

    assert len(alone) < len(made)
    for delivery in alone[:10]:
        page = screen.go(f"/deliveries/{delivery.pk}/")
        _check(made[delivery], page.locator("article"), page.locator(".untrusted"))


def _check(details: Any, *places: Locator) -> None:
    """Looks for the texts of the details in the first of the places. Looks in the last place for
    the names of what the page leaves out."""
    text = places[0].evaluate(VISIBLE_TEXT)
    if LEFT_OUT in places[-1].inner_text() and re.search(r"\d", places[-1].inner_text()):
        return
    assert missing(details, text) == [], written(details)
