"""A person signs an approval in Chromium, with its virtual authenticator."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from accounts.models import Team, User
from tests.browser.people.test_passkeys import SUGGESTS_NONE, Device, add
from tests.browser.screen import Open, Screen, wait_for_answers
from tests.types import MakeDelivery
from wake.models import Delivery, Draft, Response

SIGN = "Sign with your passkey"
MESSAGE = "Message to the agent (if you reject, say why)"


@pytest.fixture
def delivery(team: Team, make_delivery: MakeDelivery) -> Delivery:
    Team.objects.update(signs_irreversible=True)
    return make_delivery(
        irreversible=True,
        headline="Refund 180 EUR?",
        summary="To the customer of order 4711.",
        details_json='{"amount": 180, "currency": "EUR"}',
    )


@pytest.fixture
def screen(open_browser: Open, alice: User) -> Screen:
    screen = open_browser(alice)
    screen.context.add_init_script(SUGGESTS_NONE)
    return screen


@pytest.fixture
def device(screen: Screen) -> Device:
    device = Device(screen)
    add(screen)
    return device


def path_of(delivery: Delivery) -> str:
    return f"/deliveries/{delivery.pk}/"


def approve(screen: Screen, delivery: Delivery, message: str = "") -> Page:
    page = screen.go(path_of(delivery))
    if message:
        page.get_by_label(MESSAGE).fill(message)
    wait_for_answers(page)
    return screen.press("Approve")


def test_a_person_signs_what_they_see(screen: Screen, device: Device, delivery: Delivery) -> None:
    page = screen.go(path_of(delivery))
    assert "you sign with your passkey" in page.inner_text("main")
    assert screen.problems() == []

    approve(screen, delivery, "Only this once.\nAnd tell them — €180.")
    shown = page.inner_text("main")
    assert "Sign your answer" in shown
    assert "Only this once." in shown
    assert not Response.objects.exists()
    assert screen.problems() == []
    screen.press(SIGN)

    response = Response.objects.get()
    assert response.feedback == "Only this once.\nAnd tell them — €180."
    assert json.loads(response.signature_json)["statement"]["status"] == "approved"
    screen.go(path_of(delivery))
    assert "signed with your passkey" in page.inner_text("main")
    assert screen.problems() == []


def test_a_person_signs_an_edit(screen: Screen, device: Device, delivery: Delivery) -> None:
    page = screen.go(f"{path_of(delivery)}edit")
    page.get_by_label("amount").fill("90")
    wait_for_answers(page)
    screen.press("Send changes")
    assert "90" in page.inner_text("main")
    assert screen.problems() == []

    screen.press(SIGN)

    response = Response.objects.get()
    assert (response.status, response.edited_content) == (
        "redirected",
        {"amount": 90, "currency": "EUR"},
    )


def test_the_key_a_leads_to_the_page_and_signs_nothing(
    screen: Screen, device: Device, delivery: Delivery
) -> None:
    page = screen.go("/")
    assert "needs your passkey: open it to approve" in page.inner_text("main")
    page.keyboard.press("j")
    with page.expect_navigation():
        page.keyboard.press("a")
    assert page.url.endswith(path_of(delivery))
    wait_for_answers(page)
    with page.expect_navigation():
        page.keyboard.press("a")

    assert "Sign your answer" in page.inner_text("main")
    page.keyboard.press("a")
    assert not Response.objects.exists()


def test_a_wrong_fingerprint_sends_nothing(
    screen: Screen, device: Device, delivery: Delivery
) -> None:
    page = approve(screen, delivery, "Yes.")
    device.knows_the_person(known=False)

    page.get_by_role("button", name=SIGN).click()

    expect(page.get_by_role("alert")).to_contain_text("No passkey was used")
    assert screen.problems() == []
    screen.follow("Cancel")
    assert page.get_by_label(MESSAGE).input_value() == "Yes."
    assert not Response.objects.exists()


def test_a_device_without_a_passkey_says_what_to_do(screen: Screen, delivery: Delivery) -> None:
    page = screen.go(path_of(delivery))
    assert "Add one in your account, under Security." in page.inner_text("main")
    assert screen.problems() == []

    approve(screen, delivery, "Yes.")

    assert "This needs a passkey." in page.inner_text("main")
    assert page.get_by_role("button", name=SIGN).count() == 0
    assert Draft.objects.get().feedback == "Yes."
    assert screen.problems() == []


def test_without_javascript_the_page_says_what_to_do(
    open_browser: Open, screen: Screen, device: Device, delivery: Delivery, alice: User
) -> None:
    alice.refresh_from_db()  # adding the passkey ended the other sessions
    plain = open_browser(alice, scripts=False)
    page = plain.go(path_of(delivery))
    page.get_by_label(MESSAGE).fill("Yes.")
    page.wait_for_timeout(1000)  # without JavaScript, the page ignores the first clicks
    plain.press("Approve")

    shown = page.inner_text("main")
    assert "This needs a passkey, and passkeys need JavaScript." in shown
    assert not page.get_by_role("button", name=SIGN).is_visible()
    with page.expect_navigation():
        page.get_by_role("link", name="Back to the delivery").click()
    assert page.get_by_label(MESSAGE).input_value() == "Yes."
    page.wait_for_timeout(1000)
    plain.press("Reject")
    assert Response.objects.get().status == "rejected"


def test_an_undone_answer_is_signed_again(
    screen: Screen, device: Device, delivery: Delivery
) -> None:
    approve(screen, delivery)
    screen.press(SIGN)
    first = Response.objects.get().signature_json
    page = screen.go(path_of(delivery))
    screen.press("Undo")

    approve(screen, delivery)
    assert "Sign your answer" in page.inner_text("main")
    screen.press(SIGN)

    assert json.loads(Response.objects.get().signature_json) != json.loads(first)
