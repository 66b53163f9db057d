"""Enter in a field or on a checkbox sends no answer. A browser would press the first button of the
form, and this button may belong to another delivery."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from accounts.models import User
from tests.browser.screen import Open
from tests.types import MakeDelivery
from wake.models import Delivery, Response

pytestmark = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])

FIELD = {"type": "field", "name": "floor", "label": "Floor", "kind": "number", "value": 10}
CHOICE = {"type": "choice", "label": "Which?", "options": [{"id": "A", "label": "One price"}]}


def is_unanswered(delivery: Delivery) -> bool:
    delivery.refresh_from_db()
    return delivery.acknowledged_at is None and not Response.objects.exists()


@pytest.mark.parametrize("first", ["output", "update"])
def test_on_the_checkbox_of_a_row_it_keeps_the_selection(
    open_browser: Open, alice: User, make_delivery: MakeDelivery, scripts: bool, first: str
) -> None:
    make_delivery(headline="Below", type=first)
    above = make_delivery(headline="Above", type=first)
    page = open_browser(alice, scripts=scripts).go("/")
    page.get_by_label("Select: Below").check()

    with page.expect_navigation():
        page.get_by_label("Select: Below").press("Enter")

    expect(page.get_by_label("Select: Below")).to_be_checked()
    expect(page.get_by_label("Select: Above")).not_to_be_checked()
    assert is_unanswered(above)


def test_in_a_review_it_keeps_what_was_chosen(
    open_browser: Open, alice: User, make_delivery: MakeDelivery, scripts: bool
) -> None:
    delivery = make_delivery(headline="Report")
    page = open_browser(alice, scripts=scripts).go(f"/batch/?id={delivery.pk}")
    page.get_by_label("Message for all").fill("Well done.")
    page.get_by_label("Read", exact=True).check()
    page.get_by_label("Approve", exact=True).check()

    for label in ("Approve", "Read"):
        with page.expect_navigation():
            page.get_by_label(label, exact=True).press("Enter")
        expect(page.get_by_label("Read", exact=True)).to_be_checked()
        expect(page.get_by_label("Approve")).to_be_checked()
        expect(page.get_by_label("Message for all")).to_have_value("Well done.")
        expect(page.get_by_role("alert")).to_have_count(0)
        assert is_unanswered(delivery)


@pytest.mark.parametrize("type", ["alert", "update", "output", "question"])
def test_in_a_proposed_value_it_opens_the_editor(
    open_browser: Open, alice: User, make_delivery: MakeDelivery, scripts: bool, type: str
) -> None:
    blocks = [CHOICE, FIELD] if type == "question" else [FIELD]
    delivery = make_delivery(
        type=type,
        details_json=json.dumps({"wake_blocks": 1, "blocks": blocks}),
        timeout_seconds=9_000 if type == "question" else None,
    )
    page = open_browser(alice, scripts=scripts).go(f"/deliveries/{delivery.pk}/")
    page.get_by_label("Floor").fill("12")

    with page.expect_navigation():
        page.get_by_label("Floor").press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("Edit and send back")
    expect(page.get_by_label("Floor")).to_have_value("12")
    assert is_unanswered(delivery)
