"""The answer is within reach on every screen, and no single key sends an option that the person did
not choose."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from tests.browser.screen import Open, wait_for_answers
from tests.browser.world import World
from tests.types import MakeDelivery
from wake.models import Delivery, Response

MESSAGE = "Message to the agent (if you reject, say why)"
CHOICE = {
    "type": "choice",
    "label": "Which price?",
    "options": [
        {"id": "A", "label": "One price", "text": "One line on the invoice."},
        {"id": "B", "label": "Per person", "recommended": True},
    ],
}


@pytest.fixture
def question(make_delivery: MakeDelivery) -> Delivery:
    details = json.dumps({"wake_blocks": 1, "blocks": [CHOICE]})
    return make_delivery(type="question", headline="Two prices", details_json=details)


def send_with_keys(page: Page) -> None:
    wait_for_answers(page)
    with page.expect_navigation():
        page.keyboard.press("Control+Enter")


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_main_answer_is_on_the_screen_of_every_delivery(
    open_browser: Open, alice: User, world: World, subtests: pytest.Subtests, width: int
) -> None:
    screen = open_browser(alice, width=width)

    for name in ("question", "blocks", "report", "alert", "update", "long"):
        with subtests.test(name):
            page = screen.go(world.path(name))
            box: Any = page.locator(".answer-bar .button--main").bounding_box()
            bar: Any = page.locator(".answer-bar").bounding_box()
            assert box["y"] + box["height"] <= 844
            assert bar["height"] <= 844 / 4


def test_with_large_letters_only_the_buttons_stay_in_sight(
    open_browser: Open, alice: User, world: World, subtests: pytest.Subtests
) -> None:
    """With letters of twice the size, a phone of 390 by 844 has as little room as this window. The
    whole bar used to hide more than half of the page."""
    screen = open_browser(alice)
    screen.page.set_viewport_size({"width": 390, "height": 422})

    for name in ("question", "report", "alert"):
        with subtests.test(name):
            page = screen.go(world.path(name))
            buttons: Any = page.locator(".answer-bar__buttons").bounding_box()
            assert buttons["height"] <= 422 * 0.3
            assert buttons["y"] + buttons["height"] <= 422
            page.get_by_label(MESSAGE).focus()
            message: Any = page.get_by_label(MESSAGE).bounding_box()
            buttons = page.locator(".answer-bar__buttons").bounding_box()
            assert 0 <= message["y"] < message["y"] + message["height"] <= buttons["y"]


def test_with_large_text_the_bar_leaves_three_quarters_of_a_phone(
    open_browser: Open, alice: User, world: World, subtests: pytest.Subtests
) -> None:
    """The bar used to hide 40 to 58 % of the delivery."""
    screen = open_browser(alice, width=390)

    for name in ("question", "blocks", "report", "alert", "update", "long"):
        with subtests.test(name):
            page = screen.go(world.path(name))
            page.evaluate("document.documentElement.style.fontSize = '200%'")
            box: Any = page.locator(".answer-bar .button--main").bounding_box()
            bar: Any = page.locator(".answer-bar").bounding_box()
            assert box["y"] + box["height"] <= 844
            assert bar["height"] <= 844 / 4


@pytest.mark.parametrize(
    ("name", "second"), [("question", "No, don't"), ("blocks", "None of these"), ("long", "Reject")]
)
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_with_large_text_the_second_answer_is_behind_more(
    open_browser: Open, alice: User, world: World, name: str, second: str, scripts: bool
) -> None:
    screen = open_browser(alice, width=195, scripts=scripts)
    page = screen.go(world.path(name))
    page.get_by_label(MESSAGE).fill("Too dear.")
    expect(page.get_by_role("button", name=second)).to_be_hidden()

    screen.more(second)

    answer = Response.objects.get(delivery=world.deliveries[name])
    assert (answer.status, answer.feedback) == ("rejected", "Too dear.")


def test_on_a_question_r_leads_to_the_text_and_the_text_is_sent(
    open_browser: Open, alice: User, question: Delivery
) -> None:
    """The only key that led to the text used to choose "None of these", so that the text was sent
    as a rejection."""
    page = open_browser(alice).go(f"/deliveries/{question.pk}/")

    page.keyboard.press("r")
    expect(page.get_by_label(MESSAGE)).to_be_focused()
    page.keyboard.type("Take A for now.")
    send_with_keys(page)

    answer = Response.objects.get()
    assert (answer.status, answer.feedback) == ("redirected", "Take A for now.")
    expect(page.locator(".notice")).to_contain_text("Answered: Two prices")


def test_no_single_key_sends_an_option_that_was_not_chosen(
    open_browser: Open, alice: User, question: Delivery
) -> None:
    page = open_browser(alice).go(f"/deliveries/{question.pk}/")

    page.keyboard.press("a")
    page.get_by_label(MESSAGE).press("Control+Enter")

    assert page.locator(":checked").count() == 0
    assert not Response.objects.exists()


def test_a_chosen_option_is_sent_with_its_message_and_named(
    open_browser: Open, alice: User, question: Delivery
) -> None:
    page = open_browser(alice).go(f"/deliveries/{question.pk}/")

    page.get_by_label("One price").check()
    page.get_by_label(MESSAGE).fill("Simple is good.")
    expect(page.get_by_role("button", name="Send answer")).to_be_hidden()
    send_with_keys(page)

    answer = Response.objects.get()
    assert (answer.edited_content, answer.feedback) == ({"choice": "A"}, "Simple is good.")
    expect(page.locator(".notice")).to_contain_text("Chose One price: Two prices")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_other_answers_are_behind_one_button(
    open_browser: Open, alice: User, make_delivery: MakeDelivery, scripts: bool
) -> None:
    delivery = make_delivery(type="alert")
    screen = open_browser(alice, scripts=scripts, width=390)
    page = screen.go(f"/deliveries/{delivery.pk}/")
    expect(page.get_by_role("button", name="Approve")).to_be_hidden()

    screen.more("Approve")

    assert Response.objects.get().status == "approved"


def test_the_menu_closes_with_escape_and_with_a_click_beside_it(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    page = open_browser(alice).go(f"/deliveries/{make_delivery().pk}/")
    more, edit = page.get_by_text("More", exact=True), page.get_by_role("button", name="Edit and")

    more.click()
    expect(edit).to_be_visible()
    page.keyboard.press("Escape")
    expect(edit).to_be_hidden()
    expect(more).to_be_focused()
    more.click()
    page.locator("h1").click()

    expect(edit).to_be_hidden()


def test_a_key_opens_the_editor_or_snoozing_although_the_menu_is_closed(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    page = open_browser(alice).go(f"/deliveries/{make_delivery().pk}/")

    page.keyboard.press("l")
    expect(page.get_by_role("button", name="In 1 hour")).to_be_visible()
    with page.expect_navigation():
        page.keyboard.press("e")

    expect(page.locator("h1")).to_have_text("Edit and send back")


def test_text_makes_room_for_the_button_that_sends_it(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    screen = open_browser(alice, scripts=False)
    page = screen.go(f"/deliveries/{make_delivery(headline='Report').pk}/")
    expect(page.get_by_role("button", name="Request changes")).to_be_hidden()

    page.get_by_label(MESSAGE).fill("Cut section three.")
    screen.press("Request changes")

    assert Response.objects.get().status == "redirected"
    expect(page.locator(".notice")).to_contain_text("Changes requested: Report.")


def test_after_an_answer_the_next_row_has_the_focus(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    older, newer = make_delivery(headline="Older"), make_delivery(headline="Newer")
    screen = open_browser(alice)
    page = screen.go(f"/deliveries/{newer.pk}/")

    screen.press("Approve")

    expect(page.locator(f"#row-{older.pk}")).to_be_focused()


def test_the_time_that_is_left_stays_true(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(type="question", timeout_seconds=1800)
    screen = open_browser(alice)
    screen.page.clock.install()
    page = screen.go(f"/deliveries/{delivery.pk}/")
    expect(page.locator(".assumption")).to_contain_text("(in 30 min)")

    page.clock.fast_forward("10:00")

    expect(page.locator(".assumption")).to_contain_text("(in 20 min)")
