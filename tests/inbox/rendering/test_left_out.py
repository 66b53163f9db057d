"""A rendering names each thing of the details that it does not show."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inbox.rendering.details import MAX_SHOWN, render

pytestmark = pytest.mark.once


def left_out(details: Any, *, asked_for: str = "") -> tuple[str, ...]:
    rendered = render(json.dumps(details), asked_for=asked_for)
    assert rendered is not None
    return rendered.left_out


def blocks(*given: Any) -> dict[str, Any]:
    return {"wake_blocks": 1, "blocks": list(given)}


@pytest.mark.parametrize(
    "details",
    ["words", {"a": [1, 2, 3]}, blocks({"type": "text", "text": "x" * 20_000}), {"k" * 9_000: "v"}],
)
def test_short_details_are_in_sight(details: Any) -> None:
    assert left_out(details) == ()


@pytest.mark.parametrize(
    ("details", "phrase"),
    [
        ({"a": list(range(500))}, "101 items of a list, in the raw view"),
        ({f"a{n}": n for n in range(401)}, "1 member of an object, in the raw view"),
        (
            blocks({"type": "table", "columns": ["A"], "rows": [["a"]] * 3_014}),
            "14 rows of a table, in the raw view",
        ),
        (blocks(*[{"type": "text", "text": "a"}] * 130), "30 blocks, in the raw view"),
        (
            "@@ -0,0 +1,2100 @@\n" + "+a\n" * 2_100,
            "The end of a long difference, in the raw view",
        ),
        ("x" * (MAX_SHOWN + 1), "Details of 200 kB, too long for a page: download them"),
    ],
)
def test_what_is_beyond_a_limit_is_named(details: Any, phrase: str) -> None:
    assert phrase in left_out(details)


def test_raw_text_leaves_out_only_files_and_pictures() -> None:
    details = blocks(
        {"type": "file", "name": "report.pdf", "blob": "0b9f3c1e"},
        {"type": "image", "alt": "A page", "blob": "8c5c8f6e"},
        {"type": "table", "columns": ["A"], "rows": [["a"]] * 3_014},
    )

    assert left_out(details, asked_for="raw") == (
        "report.pdf, a file to download",
        "Pictures, in the formatted view",
    )
