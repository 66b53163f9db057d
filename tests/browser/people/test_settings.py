"""Settings, snoozes and saved replies work in a real browser, with any theme and without
JavaScript."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User
from inbox.models import Preferences, SavedReply
from tests.browser.screen import Open
from tests.browser.world import World
from tests.types import MakeDelivery


@pytest.fixture
def saved_replies(alice: User) -> list[SavedReply]:
    words = [("approved", "Ship it", "Good, go ahead."), ("rejected", "x" * 40, "y" * 2000)]
    return [
        SavedReply.objects.create(user=alice, status=status, name=name, text=text)
        for status, name, text in words
    ]


@pytest.mark.parametrize("device", ["light", "dark"])
def test_a_chosen_theme_wins_over_the_devices(device: str, open_browser: Open, alice: User) -> None:
    screen = open_browser(alice, scheme=device)
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    seen = {}

    for theme in ("As this device", "Light", "Dark"):
        screen.go("/settings/theme/")
        screen.page.get_by_label(theme).check()
        screen.press("Save")
        seen[theme] = screen.page.evaluate(paper)

    assert seen["Light"] == "rgb(251, 250, 247)"
    assert seen["Dark"] == "rgb(21, 23, 26)"
    assert seen["As this device"] == seen[device.capitalize()]


def test_without_javascript_settings_and_snoozing_work(
    open_browser: Open, alice: User, saved_replies: list[SavedReply], make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(headline="Market report")
    screen = open_browser(alice, scripts=False)

    screen.go("/settings/digest/")
    screen.page.get_by_label("On some days of the week").check()
    screen.page.get_by_label("Friday").check()
    screen.press("Save")
    assert screen.page.get_by_role("status").inner_text() == "Saved."
    assert Preferences.objects.get(user=alice).digest_days == "04"

    screen.go(f"/deliveries/{delivery.pk}/")
    screen.page.get_by_label("Message to the agent").fill("I like it.")
    screen.more("Saved replies")
    screen.press("Ship it")
    assert (
        screen.page.get_by_label("Message to the agent").input_value()
        == "I like it.\nGood, go ahead."
    )

    screen.page.get_by_text("Snooze", exact=True).click()
    screen.press("In 1 hour")
    assert "Snoozed. Back " in screen.page.get_by_role("status").inner_text()
    assert screen.page.get_by_role("link", name="Market report").count() == 0


def test_on_a_phone_a_short_form_begins_at_the_top(
    open_browser: Open, alice: User, world: World
) -> None:
    """An empty band of 64 px used to be above this page, and above no other page."""
    page = open_browser(alice, width=390).go(f"/agents/{world.agent.pk}/keys/new/")

    top: Any = page.locator("h1").bounding_box()

    assert top["y"] <= 120
