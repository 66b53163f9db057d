"""Content from agents runs no script, makes no request and imitates no page in a real browser."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from accounts.models import User
from tests.browser.screen import Open
from tests.inbox.rendering.test_blocks import blocks, everywhere
from tests.inbox.rendering.test_details import ATTACKS, LARGE
from tests.types import MakeDelivery

SHORT = [attack for attack in ATTACKS if attack.isprintable() and len(attack) <= 120]


def test_hostile_content_is_inert_everywhere(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    deliveries = [
        make_delivery(
            headline=SHORT[number % len(SHORT)],
            summary=SHORT[-number % len(SHORT)],
            details_json=json.dumps(value),
            assumption="<img src=x onerror=alert(1)>",
        )
        for number, value in enumerate(
            [
                *ATTACKS,
                {"value": ATTACKS, "<b onclick=x>": ATTACKS[0]},
                blocks(*(block for attack in ATTACKS[:6] for block in everywhere(attack))),
            ]
        )
    ]
    screen = open_browser(alice)

    screen.go("/")
    for delivery in deliveries:
        screen.go(f"/deliveries/{delivery.pk}/")
    for delivery in deliveries[-2:]:  # the last two deliveries have all of the hostile content
        screen.go(f"/deliveries/{delivery.pk}/?details=raw")
    screen.go(f"/deliveries/{deliveries[-1].pk}/edit")

    frame = screen.go(f"/deliveries/{deliveries[1].pk}/").locator(".untrusted__body")
    assert frame.locator("img, svg, script, iframe, style, form, button, input").count() == 0


def test_the_content_policy_stops_an_injected_script(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    screen = open_browser(alice)
    page = screen.go(f"/deliveries/{make_delivery().pk}/")

    written: Any = page.evaluate(
        "() => { try { document.body.innerHTML = '<img src=x>'; return 'written' }"
        " catch (error) { return error.name } }"
    )
    page.evaluate("() => { const i = new Image(); i.src = 'http://127.0.0.1:9/pixel.png' }")
    page.wait_for_timeout(200)

    assert written == "TypeError"
    assert any("img-src" in complaint for complaint in screen.complaints)
    screen.complaints.clear()
    screen.left_the_origin.clear()


@pytest.mark.parametrize("name", LARGE)
def test_a_page_of_hostile_content_is_quick_and_readable_on_a_phone(
    open_browser: Open, alice: User, make_delivery: MakeDelivery, name: str
) -> None:
    delivery = make_delivery(details_json=json.dumps(LARGE[name]))
    screen = open_browser(alice, width=320)
    began = time.monotonic()

    screen.go(f"/deliveries/{delivery.pk}/")

    assert time.monotonic() - began < 10
    assert screen.outside() == []


ON_TOP = "([x, y]) => !document.elementFromPoint(x, y).closest('.untrusted')"


def test_framed_content_cannot_cover_the_page(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=json.dumps("# Approved\n\n" + "line  \n" * 600))
    page = open_browser(alice).go(f"/deliveries/{delivery.pk}/")

    bar = page.locator(".answer-bar").bounding_box()
    assert bar
    for x in range(10, int(bar["width"]), 50):
        assert page.evaluate(ON_TOP, [bar["x"] + x, bar["y"] + bar["height"] / 2]), x
    frame = page.locator(".untrusted").bounding_box()
    assert frame
    assert frame["height"] <= page.viewport_size["height"]  # type: ignore[index]
    assert "written by the agent" in page.inner_text(".untrusted__head")
    page.get_by_role("link", name="Show all 4 kB").click()
    assert page.locator("#all-details").evaluate("e => e.scrollHeight - e.clientHeight") <= 1
