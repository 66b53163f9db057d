"""A person clears an inbox in a real browser, with and without scripts."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from accounts.models import User
from inbox.models import Snooze
from tests.browser.screen import Open
from tests.types import MakeDelivery
from wake.models import Delivery, Response

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_selected_rows_are_answered_together_and_undone(
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
    expect(page.get_by_role("alert")).to_contain_text("Mark “Notes” as read before approving it.")
    assert not Response.objects.exists()

    page.locator("li", has_text="Notes").get_by_label("Read").check()
    screen.press("Send answers")
    expect(page.get_by_role("heading", level=1)).to_have_text("Both answers sent")

    screen.press("Undo all")
    expect(page.get_by_role("heading", level=1)).to_have_text("Undone")
    screen.follow("Back to the inbox")
    screen.press("Undo")
    expect(page.get_by_text("Eighty percent")).to_be_visible()
    expect(page.get_by_text("Two deliveries need you")).to_be_visible()
    assert not Response.objects.exists()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_bar_of_a_selection_is_in_sight_wherever_the_row_is(
    open_browser: Open, alice: User, make_delivery: MakeDelivery, width: int
) -> None:
    for number in range(20):
        make_delivery(headline=f"Report {number}")
    page = open_browser(alice, width=width).go("/")

    page.get_by_label("Select: Report 0", exact=True).check()

    expect(page.get_by_text("1 selected")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Review together")).to_be_in_viewport()
    page.get_by_role("button", name="Select all").click()
    expect(page.get_by_text("20 selected")).to_be_in_viewport()


@pytest.fixture
def ten(make_delivery: MakeDelivery) -> list[Delivery]:
    """Returns five outputs, two alerts and three updates. A person edits the oldest output and
    snoozes the next one."""
    types = ["output"] * 5 + ["alert"] * 2 + ["update"] * 3
    return [
        make_delivery(
            type=type,
            headline=f"Number {number}",
            details_json='{"title": "Old"}' if not number else None,
        )
        for number, type in enumerate(types)
    ]


def is_cleared(ten: list[Delivery]) -> bool:
    """Returns whether three deliveries are approved, one is edited, one is snoozed, and all others
    are acknowledged."""
    answers = {row.delivery_id: (row.status, row.edited_content) for row in Response.objects.all()}
    edited = {ten[0].pk: ("redirected", {"title": "New"})}
    approved = {delivery.pk: ("approved", None) for delivery in ten[2:5]}
    is_snoozed = Snooze.objects.filter(delivery=ten[1]).exists()
    acknowledged = Delivery.objects.acknowledged().count()
    return is_snoozed and acknowledged == 5 and answers == {**edited, **approved}


def test_ten_deliveries_take_at_most_25_keys(
    open_browser: Open, alice: User, ten: list[Delivery]
) -> None:
    screen = open_browser(alice)
    page = screen.go("/")
    keys = 0

    def press(*names: str, leads_on: bool = True) -> None:
        nonlocal keys
        for name in names:
            keys += 1
            if not leads_on:
                page.keyboard.press(name)
                continue
            with page.expect_navigation():
                page.keyboard.press(name)
            page.wait_for_selector("html[data-ready]", state="attached")

    press("j", leads_on=False)
    press("s", "s")
    press("a", "a", "a")
    press("l", "Enter")
    expect(page.locator(".row:focus")).to_contain_text("Number 0")
    press("e")
    page.get_by_label("title").fill("New")
    press("Control+Enter")
    expect(page.locator(".row:focus")).to_contain_text("Number 9")
    press("s", "s", "s")

    assert is_cleared(ten)
    assert keys <= 25


def test_ten_deliveries_take_at_most_14_taps(
    open_browser: Open, alice: User, ten: list[Delivery]
) -> None:
    screen = open_browser(alice, width=390, has_touch=True, is_mobile=True)
    page = screen.go("/")
    taps = 0

    def tap(target: Locator, *, leads_on: bool = True) -> None:
        nonlocal taps
        taps += 1
        if not leads_on:
            target.tap()
            return
        with page.expect_navigation():
            target.tap()
        page.wait_for_selector("html[data-ready]", state="attached")

    def button(name: str) -> Locator:
        return page.get_by_role("button", name=name, exact=True)

    for number in (4, 3, 2):
        tap(button(f"Approve: Number {number}"))
    for number in (5, 6):
        tap(button(f"Got it: Number {number}"))
    tap(button("Got it (all 3)"))
    tap(page.get_by_label("Select: Number 1"), leads_on=False)
    tap(button("Snooze"))
    tap(button("In 1 hour"))
    tap(page.get_by_role("link", name="Number 0", exact=True))
    tap(page.get_by_text("More", exact=True), leads_on=False)
    tap(button("Edit and send back"))
    page.get_by_label("title").fill("New")
    tap(button("Send changes"))

    assert is_cleared(ten)
    assert taps <= 14


def test_several_outputs_are_reviewed_with_the_keyboard(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    first, second, third = (
        make_delivery(headline=f"Report {number}", details_json='"Read it"') for number in "123"
    )
    page = open_browser(alice).go(f"/batch/?id={first.pk}&id={second.pk}&id={third.pk}")

    for key in ("j", "x", "a", "j", "r", "k", "j", "j", "a", "l"):
        page.keyboard.press(key)
    with page.expect_navigation():
        page.keyboard.press("Control+Enter")

    assert {answer.delivery: answer.status for answer in Response.objects.all()} == {
        first: "approved",
        second: "rejected",
    }
