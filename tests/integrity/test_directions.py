"""Right-to-left letters do not move the numbers and options that follow to another place of a
command. tests/integrity/browser/test_directions.py looks at the places themselves."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbox.rendering.details import formatted, render
from pages.characters.directions import isolated
from tests.integrity.leaves import visible_text

pytestmark = pytest.mark.once

ALEF, BET = "\u05d0", "\u05d1"
LETTERS = st.text(f"ab1 /-.\"'&<>\n{ALEF}{BET}\u0661\u05b0⟨", max_size=30)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (f"rm {ALEF} 123 /x", f"rm <bdi>{ALEF}</bdi> 123 /x"),
        (f"mv {ALEF} {BET}", f"mv <bdi>{ALEF}</bdi> <bdi>{BET}</bdi>"),
        (f"{ALEF} 123", f"<bdi>{ALEF}</bdi> 123"),
        (f"<b> {ALEF}/1", f"&lt;b&gt; <bdi>{ALEF}</bdi>/1"),
        ("kill \u0661\u0662 \u0663", "kill <bdi>\u0661\u0662</bdi> <bdi>\u0663</bdi>"),
    ],
)
def test_each_word_of_code_is_apart(text: str, html: str) -> None:
    assert isolated(text, is_code=True) == html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (f"rm {ALEF} 123 /x", f"rm <bdi>{ALEF}</bdi> 123 /x"),
        (f"He said {ALEF} {BET}, 5 times", f"He said <bdi>{ALEF} {BET}</bdi>, 5 times"),
        (f"{ALEF} rm -rf /x 5 {BET}", f"{ALEF} <bdi>rm -rf /x 5</bdi> {BET}"),
        (f"{ALEF} 5 {BET}", f"{ALEF} 5 {BET}"),
        (f"a {ALEF}\n{BET} -b", f"a <bdi>{ALEF}</bdi>\n{BET} <bdi>-b</bdi>"),
    ],
)
def test_a_line_has_the_direction_of_its_first_letter(text: str, html: str) -> None:
    assert isolated(text) == html


@given(LETTERS)
def test_no_character_is_lost(text: str) -> None:
    for is_code in (True, False):
        html = isolated(text, is_code=is_code)
        assert html == text or _text_of(html) == text


def _text_of(html: str) -> str:
    for escaped, letter in {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'"}.items():
        html = re.sub("</?bdi>", "", html).replace(escaped, letter)
    return html.replace("&amp;", "&")


@pytest.mark.parametrize(
    "details",
    [
        {"command": f"rm {ALEF} 123 /x"},
        {"wake_blocks": 1, "blocks": [{"type": "code", "text": f"rm {ALEF} 123 /x"}]},
        {
            "wake_blocks": 1,
            "blocks": [{"type": "code", "language": "sh", "text": f"rm {ALEF} 123 /x"}],
        },
        {"wake_blocks": 1, "blocks": [{"type": "text", "text": f"rm {ALEF} 123 /x"}]},
        {
            "wake_blocks": 1,
            "blocks": [{"type": "diff", "before": "", "after": f"rm {ALEF} 123 /x"}],
        },
        {
            "wake_blocks": 1,
            "blocks": [{"type": "table", "columns": ["a"], "rows": [[f"rm {ALEF} 123 /x"]]}],
        },
        f"Please rm {ALEF} 123 /x",
        f"`rm {ALEF} 123 /x`",
        f"```\nrm {ALEF} 123 /x\n```",
        f"    rm {ALEF} 123 /x",
        f"Please **rm {ALEF} 123 /x**",
    ],
    ids=lambda details: json.dumps(details)[:60],
)
def test_every_place_of_the_details_keeps_the_order(details: object) -> None:
    rendered = render(json.dumps(details))

    assert rendered is not None
    assert f"<bdi>{ALEF}</bdi>" in rendered.html
    assert f"{ALEF}123/x" in "".join(visible_text(rendered.html).split())


def test_a_paragraph_of_hebrew_stays_whole() -> None:
    html = formatted(f"{ALEF} {BET} **{BET}**\n{ALEF} `{BET}`")

    assert f"{ALEF} {BET} " in html
    assert f"<code><bdi>{BET}</bdi></code>" in html


def test_an_arrow_points_to_the_same_number() -> None:
    """`100 → 900` with a Hebrew letter behind it used to appear as `900 → 100`."""
    assert isolated(f"100 → 900 {ALEF}") == f"<bdi>100 → 900</bdi> {ALEF}"
    assert isolated(f"{ALEF} 1,000 ⇒ 9,000") == f"{ALEF} <bdi>1,000 ⇒ 9,000</bdi>"
    assert isolated(f"{ALEF} 1 → 2 → €3") == f"{ALEF} <bdi>1 → 2 → €3</bdi>"
