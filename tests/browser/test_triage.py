"""A person clears an inbox in a real browser, with and without scripts."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from accounts.models import User
from tests.browser.screen import Open
from tests.types import MakeDelivery
from wake.models import Response

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_rows_are_ticked_seen_and_answered_together_and_all_of_it_is_taken_back(
    open_browser: Open, alice: User, make_delivery: MakeDelivery, scripts: bool
) -> None:
    for headline in ("Report", "Notes"):
        make_delivery(headline=headline, details_json='"Read **all** of it"')
    make_delivery(type="update", headline="Eighty percent")
    screen = open_browser(alice, scripts=scripts, width=390)
    page = screen.go("/")

    page.get_by_label("Select: Report").check()
    page.get_by_label("Select: Notes").check()
    screen.press("Got it: Eighty percent")
    expect(page.get_by_text("Acknowledged: Eighty percent.")).to_be_visible()
    expect(page.get_by_text("2 selected")).to_be_visible()

    screen.press("Review together")
    page.locator("li", has_text="Notes").get_by_label("Approve").check()
    page.locator("li", has_text="Report").get_by_label("Reject").check()
    screen.press("Send answers")
    expect(page.get_by_role("alert")).to_contain_text("as read before you approve")
    assert not Response.objects.exists()

    page.locator("li", has_text="Notes").get_by_label("Read").check()
    screen.press("Send answers")
    expect(page.get_by_role("heading", level=1)).to_have_text("Both answers are on their way")

    screen.press("Undo all")
    expect(page.get_by_role("heading", level=1)).to_have_text("Undone")
    screen.follow("Back to the inbox")
    screen.press("Undo")
    expect(page.get_by_text("Eighty percent")).to_be_visible()
    expect(page.get_by_text("Two deliveries wait for you")).to_be_visible()
    assert not Response.objects.exists()
