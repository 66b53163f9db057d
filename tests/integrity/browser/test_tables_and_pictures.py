"""If a table or a picture puts something out of sight, the page shows a sign of it."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect

from accounts.models import User
from tests.browser.screen import Open
from tests.types import MakeDelivery
from wake.models import Delivery, Response

pytestmark = [pytest.mark.slow, pytest.mark.once]

LONG_WORD = {"columns": ["A" * 300, "Also"], "rows": [["x" * 900, "Delete"]]}
BROAD = {"columns": [f"Column {n}" for n in range(20)], "rows": [["All well"] * 19 + ["Delete"]]}
IS_INSIDE = """cell => cell.getBoundingClientRect().right
  <= cell.closest(".scroll").getBoundingClientRect().right + 1"""
BAR_HEIGHT = """cell => parseFloat(
  getComputedStyle(cell.closest(".scroll"), "::-webkit-scrollbar").height)"""


def of_blocks(make_delivery: MakeDelivery, *blocks: dict[str, Any]) -> Delivery:
    return make_delivery(details_json=json.dumps({"wake_blocks": 1, "blocks": blocks}))


@pytest.mark.parametrize("width", [1280, 390])
def test_a_long_word_pushes_no_cell_out_of_sight(
    open_browser: Open, alice: User, make_delivery: MakeDelivery, width: int
) -> None:
    delivery = of_blocks(make_delivery, {"type": "table", **LONG_WORD})
    page = open_browser(alice, width=width).go(f"/deliveries/{delivery.pk}/")

    assert page.get_by_role("cell", name="Delete").evaluate(IS_INSIDE)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_broad_table_has_a_bar_that_stays(
    open_browser: Open, alice: User, make_delivery: MakeDelivery, width: int
) -> None:
    delivery = of_blocks(make_delivery, {"type": "table", **BROAD})
    page = open_browser(alice, width=width).go(f"/deliveries/{delivery.pk}/")
    cell = page.get_by_role("cell", name="Delete")

    assert not cell.evaluate(IS_INSIDE)
    assert cell.evaluate(BAR_HEIGHT) >= 8


@pytest.mark.parametrize("size", [(12_000, 40), (40, 9_000)])
def test_a_picture_that_is_shrunk_says_so(
    open_browser: Open, alice: User, make_delivery: MakeDelivery, size: tuple[int, int]
) -> None:
    file = io.BytesIO()
    Image.new("L", size, 255).save(file, "PNG")
    data = base64.b64encode(file.getvalue()).decode()
    delivery = of_blocks(make_delivery, {"type": "image", "alt": "All well", "data": data})
    screen = open_browser(alice)
    page = screen.go(f"/deliveries/{delivery.pk}/")

    expect(page.locator("figcaption")).to_contain_text("Shown smaller")
    expect(page.locator(".answer-bar")).to_contain_text("shown smaller")
    screen.press("Approve")

    assert Response.objects.get().all_in_sight is False
