"""A typed answer survives a lost connection, a reload and a new sign-in. The answer is sent once.
The typed answer is removed from the device when the server has stored it, or when the person signs
out."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Page, Route, expect

from accounts.models import User
from inbox.models import SavedReply
from tests.browser.screen import Open, Screen
from tests.fixtures.people import PASSWORD
from tests.types import MakeDelivery
from wake.models import Delivery, Draft, Response

WORDS = "Cut section three."
NOT_SENT = "Not sent: the connection dropped. Your text is still here. Send it again."
KEPT = "Object.keys(localStorage).filter(key => key.startsWith('draft:')).length"


@pytest.fixture
def delivery(make_delivery: MakeDelivery) -> Delivery:
    return make_delivery(headline="Market report", details_json='{"title": "Old"}')


def typed(screen: Screen, delivery: Delivery) -> Page:
    page = screen.go(f"/deliveries/{delivery.pk}/")
    page.get_by_label("Message to the agent").fill(WORDS)
    return page


def test_without_a_connection_the_text_stays_and_can_be_sent_again(
    open_browser: Open, alice: User, delivery: Delivery
) -> None:
    screen = open_browser(alice)
    page = typed(screen, delivery)

    screen.context.set_offline(True)
    page.get_by_role("button", name="Reject").click()

    expect(page.get_by_role("alert")).to_have_text(NOT_SENT)
    expect(page.get_by_label("Message to the agent")).to_have_value(WORDS)
    assert screen.problems() == []
    assert not Response.objects.exists()

    screen.context.set_offline(False)
    screen.complaints.clear()  # Chromium logs the request that failed
    screen.press("Reject")

    assert Response.objects.get().feedback == WORDS
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.evaluate(KEPT) == 0


def test_a_reload_restores_the_text_with_a_notice(
    open_browser: Open, alice: User, delivery: Delivery
) -> None:
    page = typed(open_browser(alice), delivery)

    page.reload()

    expect(page.get_by_label("Message to the agent")).to_have_value(WORDS)
    note = page.get_by_text("Restored what you typed")
    expect(note).to_be_visible()
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_label("Message to the agent")).to_have_value("")
    expect(note).to_have_count(0)
    page.reload()
    expect(page.get_by_label("Message to the agent")).to_have_value("")


def test_an_edit_that_only_deletes_text_is_restored_too(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json='"Keep this, not that."')
    page = open_browser(alice).go(f"/deliveries/{delivery.pk}/edit")
    page.get_by_label("The agent's text").fill("Keep this")

    page.reload()

    expect(page.get_by_label("The agent's text")).to_have_value("Keep this")


def test_a_saved_reply_stays_below_text_that_ends_in_a_line_break(
    open_browser: Open, alice: User, delivery: Delivery
) -> None:
    SavedReply.objects.create(user=alice, status="approved", name="Ship it", text="Good, go ahead.")
    screen = open_browser(alice)
    page = typed(screen, delivery)
    page.get_by_label("Message to the agent").fill(f"{WORDS}\n")

    screen.more("Saved replies")
    screen.press("Ship it")

    expect(page.get_by_label("Message to the agent")).to_have_value(f"{WORDS}\nGood, go ahead.")


def test_an_edit_is_restored_until_the_original_is_chosen(
    open_browser: Open, alice: User, delivery: Delivery
) -> None:
    screen = open_browser(alice)
    page = screen.go(f"/deliveries/{delivery.pk}/edit")
    page.get_by_label("title").fill("New")

    page.reload()
    expect(page.get_by_label("title")).to_have_value("New")
    screen.follow("Reset to original")
    expect(page.get_by_label("title")).to_have_value("Old")

    page.goto(f"/deliveries/{delivery.pk}/edit")
    expect(page.get_by_label("title")).to_have_value("Old")


def test_what_is_typed_after_the_reset_is_restored(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    """Each reload used to reset the text again. The draft of an answer that was undone does not
    come back."""
    delivery = make_delivery(details_json='{"title": "Old", "note": "Old"}')
    Draft.objects.create(delivery=delivery, user=alice, edited_json='{"title": "X", "note": "X"}')
    screen = open_browser(alice)
    page = screen.go(f"/deliveries/{delivery.pk}/edit")
    screen.follow("Reset to original")
    page.get_by_label("title").fill("New")

    page.reload()

    expect(page.get_by_label("title")).to_have_value("New")
    expect(page.get_by_label("note")).to_have_value("Old")


def test_after_a_new_sign_in_the_text_is_restored(
    open_browser: Open, alice: User, delivery: Delivery
) -> None:
    screen = open_browser(alice)
    page = typed(screen, delivery)
    screen.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)

    screen.press("Reject")
    page.get_by_label("E-mail").fill(alice.email)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    screen.press("Sign in")

    assert page.url.endswith(f"/deliveries/{delivery.pk}/")
    expect(page.get_by_label("Message to the agent")).to_have_value(WORDS)
    assert not Response.objects.exists()


def test_a_refused_answer_shows_the_text_once(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    question = make_delivery(type="question")
    screen = open_browser(alice)
    page = screen.go(f"/deliveries/{question.pk}/")
    page.get_by_label("Message to the agent").fill(" ")

    screen.press("Send answer")

    expect(page.locator(".errors")).to_be_visible()
    expect(page.get_by_text("Restored what you typed")).to_have_count(0)


def test_the_note_of_a_batch_is_restored_for_the_same_selection_until_it_is_sent(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    first, second = make_delivery(headline="First"), make_delivery(headline="Second")
    screen = open_browser(alice)
    page = screen.go(f"/batch/?id={first.pk}&id={second.pk}")
    page.get_by_label("Message for all").fill(WORDS)
    page.get_by_role("group", name="Answer to First").get_by_label("Reject").check()

    screen.go(f"/batch/?id={second.pk}")
    expect(page.get_by_label("Message for all")).to_have_value("")
    screen.go(f"/batch/?id={second.pk}&id={first.pk}")
    expect(page.get_by_label("Message for all")).to_have_value(WORDS)
    screen.press("Send answers")

    assert Response.objects.get().feedback == WORDS
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.evaluate(KEPT) == 0


def test_signing_out_leaves_nothing_on_the_device(
    open_browser: Open, alice: User, delivery: Delivery
) -> None:
    screen = open_browser(alice)
    page = typed(screen, delivery)
    page.reload()
    assert page.evaluate(KEPT) == 1

    screen.sign_out()

    assert page.evaluate(KEPT) == 0


def test_a_form_that_is_being_sent_says_so_and_is_sent_once(
    open_browser: Open, alice: User, delivery: Delivery
) -> None:
    page = typed(open_browser(alice), delivery)
    held: list[Route] = []
    page.route("**/healthz", lambda route: held.append(route))
    button = page.get_by_role("button", name="Reject")
    size = button.bounding_box()

    button.click(no_wait_after=True)
    busy = page.locator("button[aria-busy=true]")
    expect(busy).to_have_text("Sending…")
    busy_size: Any = busy.bounding_box()
    busy.click(no_wait_after=True)
    page.get_by_role("button", name="Approve").click(no_wait_after=True)

    assert size
    assert abs(busy_size["width"] - size["width"]) < 1
    assert len(held) == 1
    with page.expect_navigation():
        held[0].continue_()
    assert Response.objects.get().status == "rejected"
