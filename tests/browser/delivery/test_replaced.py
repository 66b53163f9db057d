"""A new version comes while a person types their answer to the old one."""

from __future__ import annotations

from playwright.sync_api import expect

from accounts.models import User
from tests.browser.screen import Open
from tests.types import MakeDelivery
from wake.models import Response

WORDS = "Ten is fine.\nGo on."


def test_a_click_does_not_answer_an_unseen_version_and_keeps_the_text(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    old = make_delivery(headline="First draft", details_json='{"price": 10}')
    screen = open_browser(alice)
    page = screen.go(f"/deliveries/{old.pk}/")
    new = make_delivery(headline="Second draft", details_json='{"price": 99}', supersedes=old.pk)
    page.get_by_label("Message to the agent").fill(WORDS)

    page.get_by_role("button", name="Approve").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("A new version has replaced this one")
    expect(page.get_by_label("Your message")).to_have_value(WORDS)
    assert screen.problems() == []
    assert not Response.objects.exists()
    screen.complaints.clear()  # Chromium logs the 409

    page.get_by_role("button", name="Continue with the new version").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Second draft")
    expect(page.get_by_label("Message to the agent")).to_have_value(WORDS)
    screen.press("Approve")

    response = Response.objects.get()
    assert (response.delivery_id, response.feedback) == (new.pk, WORDS)
