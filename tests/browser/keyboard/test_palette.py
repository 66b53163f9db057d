"""Ctrl or Cmd K goes anywhere, searches, and acts on the focused row."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from tests.browser.screen import Open, Screen
from tests.types import MakeDelivery
from wake.models import Delivery, Response


@pytest.fixture
def report(make_delivery: MakeDelivery) -> Delivery:
    return make_delivery(headline="Report")


def opened(screen: Screen, path: str = "/") -> Page:
    page = screen.go(path)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog").get_by_role("searchbox")).to_be_focused()
    return page


def test_it_goes_to_a_page_by_a_few_letters(
    open_browser: Open, alice: User, report: Delivery
) -> None:
    screen = open_browser(alice)
    page = opened(screen)
    assert screen.problems() == []

    page.keyboard.type("quiet")
    with page.expect_navigation():
        page.keyboard.press("Enter")

    assert page.url.endswith("/settings/quiet-hours/")


@pytest.mark.parametrize("width", [1280, 390])
def test_it_stands_in_the_middle(
    open_browser: Open, alice: User, report: Delivery, width: int
) -> None:
    box = opened(open_browser(alice, width=width)).get_by_role("dialog").bounding_box()

    assert box
    assert abs(box["x"] - (width - box["x"] - box["width"])) <= 1


def test_it_searches_for_words_that_are_no_place(
    open_browser: Open, alice: User, report: Delivery
) -> None:
    page = opened(open_browser(alice), "/history/")

    page.keyboard.type("saffron harvest")
    with page.expect_navigation():
        page.keyboard.press("Enter")

    expect(page.locator("h1")).to_have_text("No results for saffron harvest")


def test_it_acts_on_the_focused_row(open_browser: Open, alice: User, report: Delivery) -> None:
    page = open_browser(alice).go("/")
    page.keyboard.press("j")
    page.keyboard.press("Control+k")
    page.keyboard.type("approve")
    expect(page.get_by_role("dialog").get_by_role("button", name="Approve: Report")).to_be_visible()

    with page.expect_navigation():
        page.keyboard.press("Enter")

    assert Response.objects.get().status == "approved"


def test_keys_before_it_is_loaded_are_text_for_it(
    open_browser: Open, alice: User, report: Delivery
) -> None:
    page = open_browser(alice).go("/")
    page.keyboard.press("j")
    page.keyboard.press("Control+k")
    page.keyboard.type("area")

    expect(page.get_by_role("dialog").get_by_role("searchbox")).to_have_value("area")
    assert page.url.endswith("/")
    assert not Response.objects.exists()


def test_escape_closes_it_and_the_row_has_the_focus_again(
    open_browser: Open, alice: User, report: Delivery
) -> None:
    page = open_browser(alice).go("/")
    page.keyboard.press("j")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("a")
    page.keyboard.press("Escape")

    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(f"#row-{report.pk}")).to_be_focused()
    assert not Response.objects.exists()
