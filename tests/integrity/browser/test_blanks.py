"""In Chromium, all blanks inside a value are shown, and blanks at the ends of a value have
names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounts.models import User
from tests.browser.screen import Open
from tests.types import MakeDelivery

pytestmark = [pytest.mark.slow, pytest.mark.once]

PATH = " /data/old  files "
IN_SIGHT = "⟨U+0020⟩/data/old  files⟨U+0020⟩"
IN_CODE = "/data/old  files⟨U+0020⟩"
FIELD = {"type": "field", "name": "path", "label": PATH, "kind": "text", "value": PATH}
CHOICE = {
    "type": "choice",
    "label": PATH,
    "options": [{"id": "1", "label": PATH, "text": PATH}, {"id": "2", "label": "Nothing"}],
}
DETAILS: dict[str, tuple[Any, str, int]] = {
    "the value of a member": ({"path": PATH}, IN_SIGHT, 1),
    "the name of a member": ({PATH: 1}, IN_SIGHT, 1),
    "an item": ({"paths": [PATH, "/data/new"]}, IN_SIGHT, 1),
    "a conversation": (
        {"talk": [{"from": PATH, "said": PATH}, {"from": "B", "said": "No"}]},
        IN_SIGHT,
        2,
    ),
    "a text": (PATH, IN_SIGHT, 1),
    "Markdown": (f"Delete{PATH}now, or `rm {PATH}`.", "Delete /data/old  files now", 1),
    "code in Markdown": (f"Delete `rm{PATH}`.", IN_CODE, 1),
    "a fence": (f"Run:\n\n```sh\nrm{PATH}\n```\n", IN_CODE, 1),
}
BLOCKS: dict[str, tuple[Any, str, int]] = {
    "a text block": ({"type": "text", "text": PATH, "title": PATH}, IN_SIGHT, 2),
    "a code block": ({"type": "code", "text": f"rm{PATH}\nls\n", "language": "sh"}, IN_CODE, 1),
    "a table": ({"type": "table", "columns": [PATH, "b"], "rows": [[PATH, 1]]}, IN_SIGHT, 2),
    "pairs": ({"type": "kv", "items": {PATH: PATH}}, IN_SIGHT, 2),
    "a comparison": ({"type": "diff", "before": "rm 1", "after": f"rm{PATH}"}, IN_CODE, 1),
    "a patch": (
        {"type": "diff", "text": f"--- a\n+++ b\n@@ -1 +1 @@\n-rm 1\n+rm{PATH}\n"},
        IN_CODE,
        1,
    ),
    "a field": (FIELD, IN_SIGHT, 2),
    "a choice": (CHOICE, IN_SIGHT, 3),
}


def block(one: Any) -> dict[str, Any]:
    return {"wake_blocks": 1, "blocks": [one]}


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_blanks_are_in_sight(
    open_browser: Open, alice: User, make_delivery: MakeDelivery, scripts: bool
) -> None:
    in_blocks = {name: (block(one), shown, times) for name, (one, shown, times) in BLOCKS.items()}
    screen = open_browser(alice, width=1280, scripts=scripts)
    missing = {}

    for name, (details, shown, times) in (DETAILS | in_blocks).items():
        delivery = make_delivery(details_json=json.dumps(details))
        page = screen.go(f"/deliveries/{delivery.pk}/").locator("main").inner_text()
        if page.count(shown) < times:
            missing[name] = page

    assert missing == {}


def test_blanks_of_the_headline_are_in_sight(
    open_browser: Open, alice: User, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(headline=f"Delete{PATH}", summary=PATH)
    screen = open_browser(alice, width=1280)

    row = screen.go("/").locator("main").inner_text()
    page = screen.go(f"/deliveries/{delivery.pk}/").locator("main").inner_text()

    assert row.count(IN_CODE) == page.count(IN_CODE) == 2
