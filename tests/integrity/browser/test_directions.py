"""In Chromium, text that follows right-to-left letters stays in its place: to the right of these
letters, and in order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Locator

from accounts.models import User
from tests.browser.screen import Open
from tests.types import MakeDelivery

pytestmark = [pytest.mark.slow, pytest.mark.once]

COMMAND = "rm \u05d0 123 \u05d1 45 /x"
# Returns the left edges of the characters of the command. The command may be in several elements.
EDGES = """(element, command) => {
  const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), places = []
  while (nodes.nextNode())
    for (let at = 0; at < nodes.currentNode.data.length; at++) places.push([nodes.currentNode, at])
  const start = places.map(([node, at]) => node.data[at]).join("").indexOf(command)
  return places.slice(start, start + command.length).map(([node, at]) => {
    const range = document.createRange()
    range.setStart(node, at)
    range.setEnd(node, at + 1)
    return range.getBoundingClientRect()
  }).map(({left, top}) => [Math.round(top / 8), left])
}"""
DETAILS: list[Any] = [
    {"command": COMMAND},
    COMMAND,
    f"`{COMMAND}`",
    f"Say **no**: {COMMAND}",
    *(
        {"wake_blocks": 1, "blocks": [block]}
        for block in (
            {"type": "code", "language": "sh", "text": COMMAND},
            {"type": "code", "text": COMMAND},
            {"type": "text", "text": COMMAND},
            {"type": "diff", "before": "rm 1", "after": COMMAND},
            {"type": "diff", "text": f"--- a\n+++ b\n@@ -1 +1 @@\n-rm 1\n+{COMMAND}\n"},
            {"type": "table", "columns": ["Command"], "rows": [[COMMAND]]},
        )
    ),
]


def edges(frame: Locator) -> list[list[float]]:
    found: list[list[float]] = frame.evaluate(EDGES, COMMAND)
    return found


@pytest.mark.parametrize("view", ["", "?details=raw"], ids=["formatted", "raw"])
def test_numbers_stay_to_the_right_of_the_letters_before_them(
    open_browser: Open, alice: User, make_delivery: MakeDelivery, view: str
) -> None:
    screen = open_browser(alice, width=1280)
    for details in DETAILS:
        delivery = make_delivery(details_json=json.dumps(details, ensure_ascii=False))

        places = edges(screen.go(f"/deliveries/{delivery.pk}/{view}").locator("#all-details"))

        assert len(places) == len(COMMAND), details
        assert places == sorted(places), details


def test_headline_and_summary_keep_their_order(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(headline=COMMAND, summary=f"Why: {COMMAND}")
    screen = open_browser(alice, width=1280)

    for path, place in [
        (f"/deliveries/{delivery.pk}/", ".delivery__headline"),
        (f"/deliveries/{delivery.pk}/", ".delivery__summary"),
        ("/", ".row__headline"),
        ("/", ".row__summary"),
    ]:
        places = edges(screen.go(path).locator(place).first)

        assert places == sorted(places), place
