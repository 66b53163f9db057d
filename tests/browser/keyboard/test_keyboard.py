"""Keyboard shortcuts act on the right element and move the focus."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from accounts.models import User
from inbox.models import Preferences
from tests.browser.screen import Open, wait_for_answers
from tests.types import MakeDelivery
from wake.models import Delivery, Response


@pytest.fixture
def outputs(make_delivery: MakeDelivery) -> list[Delivery]:
    """Returns the deliveries in the order of the inbox, newest first."""
    return [make_delivery(headline=f"Report {number}") for number in (3, 2, 1)][::-1]


@pytest.fixture
def inbox(open_browser: Open, alice: User, outputs: list[Delivery]) -> Page:
    return open_browser(alice).go("/")


def row(page: Page, delivery: Delivery) -> Any:
    return page.locator(f"#row-{delivery.pk}")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def press_and_go(page: Page, *keys: str) -> None:
    with page.expect_navigation():
        press(page, *keys)
    page.wait_for_selector("html[data-ready]", state="attached")


def test_keys_before_the_shortcuts_are_loaded_count_once(
    open_browser: Open, alice: User, outputs: list[Delivery]
) -> None:
    """The first key of a first visit used to be lost."""
    screen = open_browser(alice)
    held: list[Route] = []
    screen.context.route("**/keyboard-shortcuts*.js", lambda route: held.append(route))
    page = screen.page
    page.goto("/", wait_until="commit")
    page.locator(".row").last.wait_for()
    page.wait_for_timeout(200)

    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("body")).to_be_focused()
    held[0].continue_()
    page.wait_for_selector("html[data-ready]", state="attached")

    expect(row(page, outputs[1])).to_be_focused()
    page.keyboard.press("j")
    expect(row(page, outputs[2])).to_be_focused()


def test_a_key_that_is_held_down_answers_once_and_moves_on(
    inbox: Page, outputs: list[Delivery]
) -> None:
    """A held key used to answer one delivery after each page load."""
    press(inbox, "j")
    with inbox.expect_navigation():
        inbox.keyboard.down("a")
    inbox.wait_for_selector("html[data-ready]", state="attached")
    expect(row(inbox, outputs[1])).to_be_focused()
    inbox.keyboard.down("a")
    inbox.keyboard.up("a")

    inbox.keyboard.down("j")
    inbox.keyboard.down("k")
    inbox.keyboard.down("j")
    expect(row(inbox, outputs[2])).to_be_focused()
    assert Response.objects.get().delivery == outputs[0]


def test_a_key_that_is_held_down_while_a_page_loads_answers_nothing(
    open_browser: Open, alice: User, outputs: list[Delivery]
) -> None:
    screen = open_browser(alice)
    held: list[Route] = []
    screen.context.route("**/keyboard-shortcuts*.js", lambda route: held.append(route))
    page = screen.page
    page.keyboard.down("a")
    page.goto(f"/deliveries/{outputs[0].pk}/", wait_until="commit")
    page.locator("[aria-keyshortcuts=a]").wait_for()
    page.wait_for_timeout(200)

    page.keyboard.down("a")
    held[0].continue_()
    page.wait_for_selector("html[data-ready]", state="attached")
    page.keyboard.down("a")
    page.wait_for_timeout(200)

    assert not Response.objects.exists()


def test_the_keyboard_moves_through_rows_and_stops_at_the_ends(
    inbox: Page, outputs: list[Delivery]
) -> None:
    press(inbox, "k")
    expect(row(inbox, outputs[0])).to_be_focused()

    press(inbox, "j")
    expect(row(inbox, outputs[1])).to_be_focused()

    press(inbox, "j", "j", "j")
    expect(row(inbox, outputs[2])).to_be_focused()


def test_an_approval_leads_on_to_the_next_row_and_undo_leads_back(
    inbox: Page, outputs: list[Delivery]
) -> None:
    press_and_go(inbox, "j", "a")

    assert Response.objects.get().delivery == outputs[0]
    expect(row(inbox, outputs[1])).to_be_focused()

    press_and_go(inbox, "u")

    assert not Response.objects.exists()
    expect(row(inbox, outputs[0])).to_be_focused()


def test_an_answer_on_its_page_leads_on_to_the_next_row(
    inbox: Page, outputs: list[Delivery]
) -> None:
    press_and_go(inbox, "j", "j", "o")

    wait_for_answers(inbox)
    press_and_go(inbox, "a")

    assert Response.objects.get().delivery == outputs[1]
    expect(row(inbox, outputs[2])).to_be_focused()


def test_without_a_focused_row_keys_answer_nothing(inbox: Page) -> None:
    before = inbox.url

    press(inbox, "a", "r", "e", "x", "s", "l", "Enter")

    expect(inbox.locator("h1")).to_have_text("Three deliveries need you")
    assert inbox.url == before
    assert inbox.locator("input:checked").count() == 0


def test_a_row_is_opened_or_edited(inbox: Page, outputs: list[Delivery]) -> None:
    path = f"/deliveries/{outputs[0].pk}/"

    for key, to in {"Enter": path, "o": path, "r": path, "e": f"{path}edit"}.items():
        inbox.goto("/")
        inbox.wait_for_selector("html[data-ready]", state="attached")
        press_and_go(inbox, "j", key)
        assert inbox.url.endswith(to)


def test_rows_are_selected_one_by_one_or_all_between_two(inbox: Page) -> None:
    press(inbox, "j", "x")
    expect(inbox.locator("[data-count]")).to_have_text("1 selected")

    press(inbox, "j", "j", "Shift+X")
    expect(inbox.locator("[data-count]")).to_have_text("3 selected")

    press_and_go(inbox, "b")
    expect(inbox.locator("h1")).to_have_text("Reviewing 3 together")


def test_an_update_is_acknowledged_and_brought_back(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    update = make_delivery(type="update")
    page = open_browser(alice).go("/")

    press_and_go(page, "j", "s")
    expect(row(page, update)).to_contain_text("Acknowledged. No answer was sent.")
    press_and_go(page, "u")

    expect(row(page, update)).to_be_focused()
    expect(row(page, update)).not_to_contain_text("Acknowledged")


def test_a_row_is_snoozed(inbox: Page, outputs: list[Delivery]) -> None:
    press_and_go(inbox, "j", "l")

    expect(inbox.locator("h1")).to_have_text("Snooze until…")
    expect(inbox.get_by_text("Report 1")).to_be_visible()


def test_a_delivery_is_rejected_with_a_reason(inbox: Page, outputs: list[Delivery]) -> None:
    press_and_go(inbox, "j", "o")

    press(inbox, "r")
    expect(inbox.get_by_label("Message to the agent")).to_be_focused()
    expect(inbox.locator("[data-armed]")).to_have_text("Reject")
    inbox.keyboard.type("Too long, ask a jury.")
    press_and_go(inbox, "Control+Enter")

    answer = Response.objects.get()
    assert (answer.status, answer.feedback) == ("rejected", "Too long, ask a jury.")


def test_escape_cancels_a_chosen_action(inbox: Page) -> None:
    press_and_go(inbox, "j", "o")
    press(inbox, "r", "Escape")

    expect(inbox.locator("[data-armed]")).to_have_count(0)
    inbox.get_by_label("Message to the agent").focus()
    press(inbox, "Control+Enter")

    expect(inbox.get_by_label("Message to the agent")).to_be_visible()
    assert not Response.objects.exists()


def test_one_delivery_leads_to_the_next_and_back(inbox: Page, outputs: list[Delivery]) -> None:
    press_and_go(inbox, "j", "o")
    press_and_go(inbox, "j")
    assert inbox.url.endswith(f"/deliveries/{outputs[1].pk}/")

    press_and_go(inbox, "k")
    assert inbox.url.endswith(f"/deliveries/{outputs[0].pk}/")

    wait_for_answers(inbox)
    press_and_go(inbox, "a")
    assert Response.objects.get().delivery == outputs[0]


def test_every_page_has_its_keys(inbox: Page) -> None:
    """The key "a" after "g" opens a page, and does not approve."""
    places = {"h": "/history/", "a": "/agents/", "s": "/settings/", "i": "/"}

    press(inbox, "j")
    for key, path in places.items():
        press_and_go(inbox, "g", key)
        assert inbox.url.endswith(path)
    press_and_go(inbox, "?")

    assert inbox.url.endswith("/help/keyboard-shortcuts")
    assert not Response.objects.exists()


def test_the_search_takes_every_letter_as_a_letter(inbox: Page) -> None:
    press(inbox, "j", "/")
    search = inbox.get_by_role("searchbox")
    expect(search).to_be_focused()

    inbox.keyboard.type("a jury rules/exact?")

    expect(search).to_have_value("a jury rules/exact?")
    expect(search).to_be_focused()
    press(inbox, "Escape")
    expect(search).not_to_be_focused()


def test_with_a_modifier_or_while_composing_a_key_is_the_browsers(inbox: Page) -> None:
    press(inbox, "j")

    for init in ("ctrlKey: true", "altKey: true", "metaKey: true", "isComposing: true"):
        inbox.evaluate(
            "document.activeElement.dispatchEvent(new KeyboardEvent('keydown',"
            f" {{key: 'x', code: 'KeyX', bubbles: true, {init}}}))"
        )

    expect(inbox.locator("input:checked")).to_have_count(0)


def test_a_key_is_known_on_every_layout(inbox: Page) -> None:
    """Cyrillic and Greek keys count by their place. Latin keys count by their letter, wherever the
    key is. Caps Lock may be on."""
    press(inbox, "j")

    for number, pressed in enumerate(
        [
            ("\N{CYRILLIC SMALL LETTER CHE}", "KeyX"),
            ("\N{GREEK SMALL LETTER CHI}", "KeyX"),
            ("x", "KeyB"),
            ("X", "KeyX"),
        ],
        start=1,
    ):
        inbox.evaluate(
            "([key, code]) => document.activeElement.dispatchEvent("
            "new KeyboardEvent('keydown', {key, code, bubbles: true}))",
            pressed,
        )
        expect(inbox.locator("input:checked")).to_have_count(number % 2)


@pytest.mark.parametrize(("keyboard", "walks", "selects"), [("focused", 0, 1), ("off", 0, 0)])
def test_keys_can_be_kept_to_a_focused_row_or_switched_off(
    open_browser: Open,
    alice: User,
    outputs: list[Delivery],
    keyboard: str,
    walks: int,
    selects: int,
) -> None:
    Preferences.objects.create(user=alice, keyboard=keyboard)
    page = open_browser(alice).go("/")

    press(page, "j")
    expect(page.locator(".row:focus")).to_have_count(walks)
    row(page, outputs[0]).focus()
    press(page, "x")

    expect(page.locator("input:checked")).to_have_count(selects)


def test_a_control_announces_every_key_of_the_help_page(inbox: Page) -> None:
    """A screen reader announces the keys, too."""
    press(inbox, "j")
    announced = set(
        " ".join(
            inbox.locator("[aria-keyshortcuts]").evaluate_all(
                "all => all.map(control => control.getAttribute('aria-keyshortcuts'))"
            )
        ).split()
    )

    assert {"a", "b", "l", "o", "r", "x", "/", "?"} <= announced
