"""A row with an approval shows its headline and its summary whole, at every width and density."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from inbox.preferences.preferences import preferences_of
from inbox.reading.in_sight import LONGEST_HEADLINE, LONGEST_SUMMARY
from tests.browser.screen import Open
from tests.types import MakeDelivery
from wake.models import Response

pytestmark = [pytest.mark.slow, pytest.mark.once]

WORDS = {
    "prose": ("All ten reports are ready and go to " * 9, "They go out at noon and say " * 9),
    "no spaces": ("h" * 300, "s" * 300),
    "wide letters": ("\u5831\u544a" * 100, "\u6587\u7ae0" * 100),
}
IS_WHOLE = """element => {
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  return box.width > 0 && box.height > 0
    && element.scrollHeight <= element.clientHeight + 1
    && element.scrollWidth <= element.clientWidth + 1
    && style.webkitLineClamp === "none" && style.textOverflow !== "ellipsis";
}"""


@pytest.mark.parametrize("density", ["comfortable", "compact"])
@pytest.mark.parametrize("width", [1280, 700, 390, 320])
def test_no_row_with_an_approval_cuts_a_word(
    open_browser: Open, alice: User, make_delivery: MakeDelivery, width: int, density: str
) -> None:
    for headline, summary in WORDS.values():
        make_delivery(
            headline=headline[:LONGEST_HEADLINE].strip(),
            summary=summary[:LONGEST_SUMMARY].strip(),
            provider="p" * 60,
        )
    preferences = preferences_of(alice)
    preferences.density = density
    preferences.save()
    page = open_browser(alice, width=width).go("/")

    rows = page.locator(".row:has(button:text-is('Approve'))")
    expect(rows).to_have_count(len(WORDS))
    for row in rows.all():
        assert row.locator(".row__headline a").evaluate(IS_WHOLE)
        assert row.locator(".row__summary").evaluate(IS_WHOLE)
        expect(row.get_by_text("p" * 60)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_opens_a_row_that_does_not_show_everything(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    whole = make_delivery(headline="Short")
    longer = make_delivery(headline="Longer", details_json=json.dumps("Delete everything."))
    screen = open_browser(alice)
    page: Any = screen.go("/")
    page.keyboard.press("j")
    expect(page.locator(".row:focus")).to_contain_text("Longer")

    with page.expect_navigation():
        page.keyboard.press("a")
    expect(page.get_by_text("Delete everything.")).to_be_visible()
    assert not Response.objects.exists()

    page = screen.go("/")
    page.locator(f"#row-{whole.pk}").focus()
    with page.expect_navigation():
        page.keyboard.press("a")
    assert Response.objects.get().delivery == whole
    assert longer.pk != whole.pk
