"""A line reports new deliveries from time to time, and the rest of the page does not change."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import ConsoleMessage, Page, expect

from accounts.models import User
from tests.browser.screen import Open
from tests.types import MakeDelivery

HIDE = """hidden => {
  Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""


# The page plans its next request only after it has read an answer. The page reads the answer later
# than the browser receives it.
REPORT_READ_ANSWERS = """
const send = XMLHttpRequest.prototype.send;
XMLHttpRequest.prototype.send = function (...body) {
  this.addEventListener("loadend", () => console.debug(`read ${this.responseURL}`));
  return send.apply(this, body);
};"""


@pytest.fixture
def inbox(open_browser: Open, alice: User, make_delivery: MakeDelivery) -> Page:
    """Opens a page with a clock that only the test moves."""
    make_delivery(headline="The first")
    screen = open_browser(alice)
    screen.page.add_init_script(REPORT_READ_ANSWERS)
    screen.page.clock.install()
    page = screen.go("/")
    page.clock.pause_at(page.evaluate("Date.now() / 1000 + 1"))
    return page


@pytest.fixture
def asked(inbox: Page) -> list[str]:
    """Collects the answers that the page has read."""
    answers: list[str] = []

    def record(message: ConsoleMessage) -> None:
        if "/pulse?" in message.text:
            answers.append(message.text)

    inbox.on("console", record)
    return answers


def pass_seconds(page: Page, seconds: int, *, asks: bool) -> None:
    if not asks:
        page.clock.run_for(seconds * 1000)
        return
    with page.expect_console_message(lambda message: "/pulse?" in message.text):
        page.clock.run_for(seconds * 1000)


def test_new_deliveries_are_announced_and_shown_on_request(
    inbox: Page, make_delivery: MakeDelivery
) -> None:
    title = inbox.title()
    icon = inbox.locator("link[rel=icon]").get_attribute("href")
    make_delivery(headline="The second")

    pass_seconds(inbox, 31, asks=True)

    expect(inbox.locator(".pill")).to_have_text("Show 1 new delivery")
    expect(inbox.locator(".row")).to_have_count(1)
    assert inbox.title() == title
    assert inbox.locator("link[rel=icon]").get_attribute("href") == icon

    with inbox.expect_navigation():
        inbox.keyboard.press(".")
    expect(inbox.locator(".row")).to_have_count(2)


def test_the_notice_moves_no_row_and_covers_no_button(
    inbox: Page, make_delivery: MakeDelivery
) -> None:
    for number in range(12):
        make_delivery(headline=f"The next {number}")
    sizes: list[Any] = [{"width": width, "height": 800} for width in (1280, 390, 320)]
    before = [_tops(inbox, size) for size in sizes]

    pass_seconds(inbox, 31, asks=True)
    expect(inbox.locator(".pill")).to_be_visible()

    assert [_tops(inbox, size) for size in sizes] == before
    for size in sizes:
        inbox.set_viewport_size(size)
        pill = inbox.locator(".pill").bounding_box()
        tools = inbox.locator(".top__tools").bounding_box()
        assert pill
        assert tools
        assert pill["x"] >= 0
        assert pill["x"] + pill["width"] <= tools["x"]


def _tops(page: Page, size: Any) -> Any:
    page.set_viewport_size(size)
    return page.locator(".row").evaluate_all("all => all.map(e => e.getBoundingClientRect().top)")


def test_without_new_deliveries_there_is_no_notice(inbox: Page, asked: list[str]) -> None:
    pass_seconds(inbox, 31, asks=True)

    assert len(asked) == 1
    expect(inbox.locator(".pill")).to_have_count(0)


def test_a_person_who_was_signed_out_gets_no_updates(
    inbox: Page, make_delivery: MakeDelivery
) -> None:
    make_delivery(headline="The second")
    inbox.context.clear_cookies()

    with inbox.expect_console_message(lambda message: "/login/" in message.text):
        inbox.clock.run_for(31_000)

    expect(inbox.locator(".updates")).to_be_empty()
    expect(inbox.locator(".row")).to_have_count(1)


def test_a_notice_disappears_with_its_deliveries(inbox: Page, make_delivery: MakeDelivery) -> None:
    second = make_delivery(headline="The second")
    pass_seconds(inbox, 31, asks=True)
    expect(inbox.locator(".pill")).to_have_count(1)

    second.delete()
    pass_seconds(inbox, 31, asks=True)

    expect(inbox.locator(".pill")).to_have_count(0)


def test_an_idle_page_polls_rarely(inbox: Page, asked: list[str]) -> None:
    pass_seconds(inbox, 31, asks=True)
    pass_seconds(inbox, 31, asks=True)
    pass_seconds(inbox, 110, asks=False)
    assert len(asked) == 2

    pass_seconds(inbox, 11, asks=True)

    assert len(asked) == 3


def test_a_hidden_page_polls_once_it_is_visible_again(inbox: Page, asked: list[str]) -> None:
    inbox.evaluate(HIDE, True)
    pass_seconds(inbox, 600, asks=False)
    assert asked == []

    with inbox.expect_console_message(lambda message: "/pulse?" in message.text):
        inbox.evaluate(HIDE, False)

    assert len(asked) == 1
