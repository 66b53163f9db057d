"""The editor shows what an edit changes while it is typed."""

from __future__ import annotations

from playwright.sync_api import expect

from accounts.models import User
from tests.browser.screen import Open
from tests.types import MakeDelivery


def test_changes_appear_as_they_are_typed(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    """The page used to say that nothing had changed, although the text had."""
    delivery = make_delivery(details_json='{"title": "Report", "pages": 12}')
    page = open_browser(alice).go(f"/deliveries/{delivery.pk}/edit")
    expect(page.get_by_text("No changes yet.")).to_be_visible()

    page.get_by_label("title").fill("Market report")

    expect(page.locator(".diff__line--added")).to_contain_text("Market report")
    expect(page.get_by_text("No changes yet.")).to_have_count(0)
    expect(page.get_by_label("title")).to_be_focused()


def test_an_error_appears_beside_its_field_and_leaves_when_it_is_corrected(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json='{"title": "Report", "pages": 12}')
    screen = open_browser(alice)
    page = screen.go(f"/deliveries/{delivery.pk}/edit")

    page.get_by_role("textbox", name="pages").fill("many")
    expect(page.locator("#field-1-error")).to_contain_text("Enter a number for Pages")
    assert page.get_by_role("textbox", name="pages").get_attribute("aria-invalid") == "true"
    assert screen.problems() == []
    page.get_by_role("textbox", name="pages").fill("13")

    expect(page.locator("#field-1-error")).to_be_empty()
    expect(page.locator(".diff__line--added")).to_contain_text("13")


def test_the_editor_has_no_empty_half_and_its_button_is_in_reach(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json='{"title": "Report", "by": "the board"}')
    page = open_browser(alice).go(f"/deliveries/{delivery.pk}/edit")

    beside = page.locator(".editor > :last-child").bounding_box()
    send = page.get_by_role("button", name="Send changes").bounding_box()

    assert beside
    assert beside["x"] > 600
    expect(page.locator(".editor > :last-child")).to_contain_text("the board")
    assert send
    assert send["y"] + send["height"] <= 844
