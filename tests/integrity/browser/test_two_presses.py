"""A press or click that comes a moment too late does not answer the next delivery, which the person
has not read."""

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

# The text is so long that the answers are at the bottom of the window.
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


def test_a_double_click_answers_one_delivery_without_javascript(
    open_browser: Open, alice: User, deliveries: list[Delivery]
) -> None:
    page = open_browser(alice, scripts=False).go(f"/deliveries/{deliveries[0].pk}/")
    button = page.get_by_role("button", name="Approve", exact=True)
    button.hover()  # hover() waits until the button takes clicks
    box = button.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    with page.expect_navigation(wait_until="domcontentloaded"):
        page.mouse.click(x, y)
    page.mouse.click(x, y)
    expect(page.get_by_role("heading", name="Second")).to_be_visible()
    assert Response.objects.get().delivery == deliveries[0]

    page.get_by_role("button", name="Approve", exact=True).click()
    assert Response.objects.count() == 2


@pytest.mark.parametrize("scripts", [True, False])
def test_a_new_version_that_came_meanwhile_takes_no_second_click(
    open_browser: Open,
    alice: User,
    deliveries: list[Delivery],
    make_delivery: MakeDelivery,
    scripts: bool,
) -> None:
    page = open_browser(alice, scripts=scripts).go(f"/deliveries/{deliveries[0].pk}/")
    newer = make_delivery(headline="Newer", supersedes=deliveries[0].pk)
    Delivery.objects.filter(pk=deliveries[0].pk).update(superseded_at=newer.created_at)

    page.get_by_role("button", name="Approve", exact=True).click()
    anyway = page.get_by_role("button", name="Answer the old version anyway")
    box = anyway.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_timeout(LATE_MS)

    assert not Response.objects.exists()
    anyway.click()
    expect(page.get_by_role("heading", name="A new version")).not_to_be_visible()
    assert Response.objects.get().delivery == deliveries[0]


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
