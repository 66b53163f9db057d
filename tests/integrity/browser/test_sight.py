"""The script that reads what is in sight sees no hidden text. A picture hides no text."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from accounts.models import User
from tests.browser.screen import Open
from tests.types import MakeDelivery
from tests.wake.blobs.showing import inline, page

pytestmark = [pytest.mark.slow, pytest.mark.once]

VISIBLE_TEXT = (Path(__file__).parent / "sight.js").read_text()
HIDES = {
    "display": "none",
    "visibility": "hidden",
    "opacity": "0",
    "font-size": "1px",
    "color": "transparent",
    "clip-path": "inset(50%)",
}
# Returns the shades behind a transparent picture, from light to dark.
SHADES = """image => {
  const colours = getComputedStyle(image).backgroundImage.match(/rgb\\([^)]*\\)/g)
  return colours.map(colour => Number(colour.match(/\\d+/)[0]))
}"""


@pytest.mark.parametrize("name", HIDES)
def test_hidden_text_is_not_in_sight(
    open_browser: Open, alice: User, make_delivery: MakeDelivery, name: str
) -> None:
    screen = open_browser(alice)
    delivery = make_delivery(details_json=json.dumps({"first": "in sight", "second": "hidden"}))
    frame = screen.go(f"/deliveries/{delivery.pk}/").locator(".untrusted__body")
    before = frame.evaluate(VISIBLE_TEXT)

    last = frame.locator(".agent-text").last
    last.evaluate(
        "(node, [name, value]) => node.style.setProperty(name, value)", [name, HIDES[name]]
    )

    assert "hidden" in before
    assert "hidden" not in frame.evaluate(VISIBLE_TEXT)
    assert "in sight" in frame.evaluate(VISIBLE_TEXT)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_black_and_white_on_transparent_can_be_seen(
    open_browser: Open, alice: User, make_delivery: MakeDelivery, scheme: Any
) -> None:
    content = BytesIO()
    Image.new("RGBA", (60, 40), (0, 0, 0, 0)).save(content, "PNG")
    delivery = make_delivery(details_json=json.dumps(page(inline(content.getvalue()))))
    screen = open_browser(alice, scheme=scheme)

    picture = screen.go(f"/deliveries/{delivery.pk}/").locator(".picture img")
    shades = picture.evaluate(SHADES)

    assert {_contrast(shade, 0) >= 3 for shade in shades} == {True}
    assert {_contrast(shade, 255) >= 2.5 for shade in shades} == {True}
    assert len(set(shades)) == 2


def _contrast(one: int, other: int) -> float:
    """Returns the contrast of two greys (WCAG 2.2, relative luminance)."""
    low, high = sorted(float(((shade / 255 + 0.055) / 1.055) ** 2.4) for shade in (one, other))
    return (high + 0.05) / (low + 0.05)
