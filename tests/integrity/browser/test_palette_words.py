"""No word of an agent can be found as an action."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from accounts.models import User
from tests.browser.screen import Open
from tests.types import MakeDelivery
from wake.models import Response

pytestmark = [pytest.mark.slow, pytest.mark.once]


def test_the_name_of_a_place_in_a_headline_leads_to_the_place(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    """Ctrl K, "history" and Enter used to act on the focused row, whose headline has that word."""
    make_delivery(headline="History of the garden")
    page = open_browser(alice).go("/")
    page.keyboard.press("j")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog").get_by_role("searchbox")).to_be_focused()

    page.keyboard.type("history")
    with page.expect_navigation():
        page.keyboard.press("Enter")

    assert not Response.objects.exists()
    assert page.url.endswith("/history/")
