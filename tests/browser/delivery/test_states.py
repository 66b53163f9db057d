"""The pages say which state a delivery is in, and what the state means for the person."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone
from playwright.sync_api import expect

from accounts.models import ApiKey, User
from tests.browser.screen import Open
from tests.inbox.person import Person
from tests.types import MakeDelivery


def test_what_a_colleague_answers_now_has_no_buttons(
    open_browser: Open, alice: User, bobs: Person, make_delivery: MakeDelivery
) -> None:
    held = make_delivery(headline="Report")
    bobs.answer(held)

    page = open_browser(alice).go("/")

    row = page.locator(f"#row-{held.pk}")
    expect(row).to_contain_text("Answering now: bob")
    expect(row.get_by_role("button")).to_have_count(0)


def test_a_late_answer_is_allowed_and_labelled(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    made_at = timezone.now() - timedelta(hours=1)
    expired = make_delivery(timeout_seconds=60, at=made_at)
    screen = open_browser(alice)

    page = screen.go(f"/deliveries/{expired.pk}/")
    expect(page.get_by_text("You can still answer, but it will be marked as late")).to_be_visible()
    screen.press("Approve")
    screen.go(f"/deliveries/{expired.pk}/")
    expect(page.get_by_text("Late answer: the deadline had passed")).to_be_visible()


def test_a_key_that_was_revoked_is_named(
    open_browser: Open, alice: User, key: ApiKey, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(key=key)
    ApiKey.objects.filter(pk=key.pk).update(revoked_at=timezone.now())

    page = open_browser(alice).go(f"/deliveries/{delivery.pk}/")

    expect(page.get_by_text("The key that sent this has since been revoked")).to_be_visible()


def test_a_proposed_value_is_changed_without_the_editor(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    details = (
        '{"wake_blocks": 1, "blocks": [{"type": "field", "name": "floor", "label": "Floor",'
        ' "kind": "number", "value": 10}]}'
    )
    delivery = make_delivery(details_json=details)
    screen = open_browser(alice, width=320)
    page = screen.go(f"/deliveries/{delivery.pk}/")
    assert screen.problems() == []

    page.get_by_label("Floor").fill("12")
    screen.press("Send this value")

    screen.go(f"/deliveries/{delivery.pk}/")
    expect(page.locator(".answer")).to_contain_text("12")
