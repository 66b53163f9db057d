"""Typed blocks are rendered by type, or as text or JSON when they are invalid."""

from __future__ import annotations

import json
import time
from typing import Any

import nh3
import pytest

from inbox.rendering import details
from inbox.rendering.blocks import requested_input
from inbox.rendering.details import RenderedDetails, render
from tests.inbox.rendering.test_details import ALLOWED, ATTACKS, Seen

pytestmark = pytest.mark.once

OPTIONS: list[dict[str, Any]] = [
    {"id": "a", "label": "One price", "text": "Simple to explain."},
    {"id": "b", "label": "Per person", "recommended": True},
]
OWN = {"bdi", "b", "dd", "del", "details", "div", "dl", "dt", "ins", "section", "span", "summary"}
OWN |= {"path", "svg", "text", "time"}


def blocks(*given: Any) -> dict[str, Any]:
    return {"wake_blocks": 1, "blocks": list(given)}


def details_of(*given: Any, asked_for: str = "") -> RenderedDetails:
    rendered = render(json.dumps(blocks(*given)), asked_for=asked_for)
    assert rendered is not None
    return rendered


def html(*given: Any) -> str:
    return details_of(*given).html


@pytest.mark.parametrize(
    ("block", "pieces"),
    [
        ({"type": "markdown", "text": "**b**"}, ["<strong>b</strong>"]),
        ({"type": "text", "text": "**b**\nc"}, ["**b**\nc"]),
        ({"type": "code", "text": "def f(): 1", "language": "py"}, ["hl-keyword", "hl-name"]),
        ({"type": "code", "text": "<b>"}, ["<code>&lt;b&gt;</code>"]),
        ({"type": "diff", "text": "@@ -1 +1 @@\n-a\n+b"}, ["diff__line--removed"]),
        ({"type": "diff", "text": "-a\n+b"}, ['hl-removed">-a']),
        ({"type": "diff", "before": "a b", "after": "a c"}, ["<del>b</del>", "<ins>c</ins>"]),
        (
            {"type": "table", "columns": ["A", "B"], "rows": [[1.5, True], ["x"]]},
            ['<th scope="col"><span dir="auto">A</span>', ">1.5</span>", ">yes</span>"],
        ),
        ({"type": "diff", "before": [1], "after": [1]}, ["No changes:", ">1<"]),
        ({"type": "kv", "items": {"k": 1.10, "o": {"p": "q"}}}, ["k</bdi>", "q</span>"]),
        ({"type": "json", "value": [1, {"a": None}]}, ['number">1<', "none"]),
        ({"type": "json", "value": "plain"}, ["plain"]),
        (
            {"type": "link", "url": "https://a.example/x", "label": "Here"},
            ['href="https://a.example/x"', ">Here</a>", "https://a.example/x</small>"],
        ),
        ({"type": "link", "url": "https://a.example/x"}, [">https://a.example/x</a>"]),
        ({"type": "choice", "options": OPTIONS}, ["One price", "Simple to", "recommended"]),
        (
            {
                "type": "choice",
                "name": "n",
                "multiple": True,
                "options": [*OPTIONS, OPTIONS[1] | {"id": "c"}],
            },
            ["Any number of these:", "recommended"],
        ),
        ({"type": "field", "name": "n", "label": "How many", "kind": "number"}, ["How many"]),
        ({"type": "text", "title": "On top", "text": "x"}, ['<h3 dir="auto">On top</h3>']),
    ],
)
def test_each_kind_of_block_is_rendered(block: Any, pieces: list[str]) -> None:
    rendered = html(block)

    for piece in pieces:
        assert piece in rendered
    assert "could not be displayed" not in rendered


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "hologram", "x": "kept"}, "kept"),
        ({"type": "hologram", "text": "kept words"}, "kept words"),
        ({"text": "no type"}, "no type"),
        ({"type": ["markdown"], "text": "kept"}, "kept"),
        ({"type": "table", "columns": "A", "rows": "kept"}, "kept"),
        ({"type": "table", "columns": [], "rows": [["kept"]]}, "kept"),
        ({"type": "table", "columns": ["A"], "rows": ["kept"]}, "kept"),
        ({"type": "link", "url": "javascript:alert(1)"}, "javascript:alert(1)"),
        ({"type": "link", "url": "/logout/"}, "/logout/"),
        ({"type": "diff", "before": "kept", "after": {}}, "kept"),
        ({"type": "choice", "options": []}, "choice"),
        ({"type": "choice", "options": [{"id": "a"}]}, "choice"),
        ({"type": "choice", "options": [OPTIONS[0], OPTIONS[0]]}, "One price"),
        ({"type": "choice", "options": [OPTIONS[1], {**OPTIONS[1], "id": "c"}]}, "Per person"),
        ({"type": "choice", "options": [{"id": "x" * 65, "label": "kept"}]}, "kept"),
        ({"type": "choice", "name": "a\nb", "options": OPTIONS}, "One price"),
        ({"type": "choice", "name": None, "options": OPTIONS}, "One price"),
        ({"type": "choice", "multiple": "yes", "options": OPTIONS}, "One price"),
        ({"type": "field", "name": "n", "kind": "file"}, "file"),
        ({"type": "field", "name": "n", "kind": "number", "value": "twelve"}, "twelve"),
        ({"type": "field", "name": "n", "kind": "boolean", "value": 1}, "boolean"),
        ({"type": "field", "name": "", "label": "kept"}, "kept"),
        ("only words", "only words"),
        (17, "17"),
        (None, "none"),
        ([], "empty"),
        ([["deep", 1]], "deep"),
    ],
)
def test_an_unknown_block_is_shown_as_text_or_json_with_a_note(block: Any, expected: str) -> None:
    rendered = html(block)

    assert "This block could not be displayed as intended:" in rendered
    assert expected in rendered


@pytest.mark.parametrize(
    "value",
    [
        {"wake_blocks": 2, "blocks": [{"type": "text", "text": "x"}]},
        {"wake_blocks": "1", "blocks": [{"type": "text", "text": "x"}]},
        {"wake_blocks": True, "blocks": []},
        {"wake_blocks": 1, "blocks": {"type": "text"}},
        {"wake_blocks": 1},
    ],
)
def test_blocks_of_another_version_are_shown_as_an_object(value: Any) -> None:
    rendered = render(json.dumps(value))

    assert rendered is not None
    assert "Wake blocks" in rendered.html
    assert not requested_input(json.dumps(value)).controls


def test_a_second_choice_and_a_repeated_name_are_read_only() -> None:
    first = {"type": "choice", "label": "First", "options": OPTIONS}
    given = [
        first,
        {**first, "label": "Second"},
        {"type": "field", "name": "choice"},
        {"type": "field", "name": "n", "value": "one"},
        {"type": "field", "name": "n", "value": "two"},
    ]
    inputs = requested_input(json.dumps(blocks(*given)))

    assert inputs.controls["choice"].label == "First"
    assert inputs.proposal == {"choice": "b", "n": "one"}
    assert html(*given).count("could not be displayed") == 3


def test_fields_that_follow_each_other_are_one_list() -> None:
    fields = [{"type": "field", "name": name} for name in "abc"]

    assert html(*fields[:2], {"type": "text", "text": "x"}, fields[2]).count("<dl") == 2


def everywhere(attack: Any) -> list[Any]:
    """Returns blocks of every type, with the value in each member that a block can have."""
    return [
        {"type": "markdown", "title": attack, "text": attack},
        {"type": "text", "text": attack},
        {"type": "code", "text": attack, "language": attack},
        {"type": "code", "text": attack, "language": "html"},
        {"type": "diff", "text": f"@@ -1 +1 @@ {attack}\n-{attack}\n+{attack}"},
        {"type": "diff", "text": attack},
        {"type": "diff", "before": attack, "after": f"{attack} {attack}"},
        {"type": "table", "columns": [attack], "rows": [[attack], [{attack: attack}]]},
        {"type": "kv", "items": {attack: attack, "before": attack, "after": ""}},
        {"type": "json", "value": {attack: [attack]}},
        {"type": "link", "url": attack, "label": attack},
        {"type": "link", "url": "https://a.example/", "label": attack},
        {"type": "choice", "label": attack, "options": [{"id": attack[:64], "label": attack}]},
        {"type": "field", "name": attack[:64], "label": attack, "value": attack},
        {"type": attack, attack: attack},
        attack,
    ]


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_blocks_are_inert_and_a_fixed_point_of_nh3(attack: str) -> None:
    rendered = html(*everywhere(attack))

    parsed = Seen(rendered)
    assert parsed.elements <= details.TAGS | OWN
    assert {name for _, name in parsed.attributes} <= {
        *("aria-label", "class", "dir", "href", "open", "rel", "role", "scope", "start", "tabindex")
    }
    assert all(one.startswith(("http://", "https://", "mailto:")) for one in parsed.links)
    assert "\u202e" not in rendered
    assert _by_nh3(rendered) == _spelled_as_nh3(rendered)


def _spelled_as_nh3(rendered: str) -> str:
    """Spells the document as nh3 does. In text, nh3 writes quotation marks as they are, and a hard
    space as `&nbsp;`. nh3 gives every attribute a value."""
    plain = rendered.replace("&quot;", '"').replace("&#x27;", "'").replace("\xa0", "&nbsp;")
    return plain.replace('<details class="fold" open>', '<details class="fold" open="">')


def _by_nh3(rendered: str) -> str:
    own = {"aria-label", "class", "datetime", "dir", "open", "role", "scope", "tabindex"}
    tags = set(details.TAGS) | OWN
    return nh3.clean(
        rendered,
        tags=tags,
        attributes={tag: own | ALLOWED.get(tag, set()) for tag in tags},
        url_schemes={"http", "https", "mailto"},
        link_rel=None,
    )


LARGE = {
    "a table of 60,000 cells": [
        {"type": "table", "columns": ["a"] * 30, "rows": [["x"] * 30] * 1_500}
    ],
    "many tables": [{"type": "table", "columns": ["a"], "rows": [["x"]] * 1_000}] * 15,
    "many blocks": [{"type": "text", "text": "x"}] * 5_000,
    "many hostile tables in markdown": [
        {"type": "markdown", "text": "|a|b|\n|-|-|\n" + "|a|b|\n" * 500}
    ]
    * 30,
    "much markdown": [{"type": "markdown", "text": "*a **b " * 500}] * 40,
    "much code": [{"type": "code", "language": "java", "text": "a " * 3_000}] * 20,
    "deep": [{"type": "json", "value": json.loads('{"a":' * 50 + "1" + "}" * 50)}] * 100,
    "wide": [{"type": "kv", "items": {str(n): n for n in range(400)}}] * 20,
    "20 kB of <": [{"type": kind, "text": "<" * 20_000} for kind in ("markdown", "text", "code")],
    "many diffs": [{"type": "diff", "before": "a b " * 400, "after": "b a c " * 300}] * 50,
    "many lines of diffs": [{"type": "diff", "text": "@@ -1 +1 @@\n" + "+\n" * 2_000}] * 30,
    "unknown": [{"type": "x", "y": list(range(300))}] * 90,
}


@pytest.mark.parametrize("given", LARGE.values(), ids=LARGE.keys())
def test_a_page_of_very_many_blocks_is_quick(given: list[Any]) -> None:
    began = time.process_time()
    rendered = details_of(*given)

    assert time.process_time() - began < 3
    assert len(rendered.html) < 1_200_000


def test_long_markdown_is_plain_until_requested() -> None:
    long = {"type": "markdown", "text": "**bold** and so on.\n\n" * 700}

    plain, formatted = details_of(long, long), details_of(long, long, asked_for="formatted")

    assert plain.may_be_formatted
    assert not formatted.may_be_formatted
    assert plain.html.count("<pre") == 1
    assert "<pre" not in formatted.html


def test_a_long_cell_is_shown_whole() -> None:
    long = "x" * 3_000

    table = html({"type": "table", "columns": ["a"], "rows": [[long]]})

    assert f">{long}</span></td>" in table
    assert "<details" not in table
