"""A second press or click that comes a moment too late answers no delivery that was not read."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from inbox.models import Preferences
from tests.browser.screen import Open
from tests.types import MakeDelivery
from wake.models import Delivery, Response

pytestmark = [pytest.mark.slow, pytest.mark.once]

# So long that the answers are at the bottom of the window.
DETAILS = json.dumps("\n\n".join(["Delete everything."] * 40))
LATE_MS = 300


@pytest.fixture
def deliveries(alice: User, make_delivery: MakeDelivery) -> list[Delivery]:
    Preferences.objects.update_or_create(
        user=alice, defaults={"after_answer": Preferences.AfterAnswer.NEXT}
    )
    second = make_delivery(headline="Second", details_json=DETAILS)
    return [make_delivery(headline="First", details_json=DETAILS), second]


def has_opened(page: Page, headline: str) -> None:
    page.wait_for_selector("html[data-ready]", state="attached")
    expect(page.get_by_role("heading", name=headline)).to_be_visible()


def test_a_double_click_answers_one_delivery(
    open_browser: Open, alice: User, deliveries: list[Delivery]
) -> None:
    page = open_browser(alice).go(f"/deliveries/{deliveries[0].pk}/")
    button = page.get_by_role("button", name="Approve", exact=True)
    expect(button).to_be_enabled()
    box = button.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    with page.expect_navigation(wait_until="domcontentloaded"):
        page.mouse.click(x, y)
    has_opened(page, "Second")
    page.mouse.click(x, y)
    page.wait_for_timeout(LATE_MS)

    assert Response.objects.get().delivery == deliveries[0]
    expect(page.get_by_role("heading", name="Second")).to_be_visible()


def test_a_key_that_is_pressed_twice_answers_one_delivery(
    open_browser: Open, alice: User, deliveries: list[Delivery]
) -> None:
    page = open_browser(alice).go(f"/deliveries/{deliveries[0].pk}/")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_enabled()

    with page.expect_navigation(wait_until="domcontentloaded"):
        page.keyboard.press("a")
    has_opened(page, "Second")
    page.keyboard.press("a")
    page.wait_for_timeout(LATE_MS)

    assert Response.objects.get().delivery == deliveries[0]


def test_the_key_that_opens_a_row_does_not_answer_it_at_once(
    open_browser: Open, alice: User, deliveries: list[Delivery]
) -> None:
    page = open_browser(alice).go("/")
    page.locator(f"#row-{deliveries[0].pk}").focus()

    with page.expect_navigation(wait_until="domcontentloaded"):
        page.keyboard.press("a")
    has_opened(page, "First")
    page.keyboard.press("a")
    page.wait_for_timeout(LATE_MS)

    assert not Response.objects.exists()
