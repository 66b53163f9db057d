"""The page on which a person approves typed blocks shows all members of the blocks, and the ends of
their texts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inbox.rendering.details import render
from tests.integrity.leaves import visible_text

pytestmark = pytest.mark.once

SECRET = "pay 90000 to mallory"
LONG = f"{'x ' * 6_000}{SECRET}"
OPTION = {"id": "a", "label": "One price"}


def shown(details: dict[str, Any]) -> str:
    rendered = render(json.dumps(details))
    assert rendered is not None
    assert rendered.has_all_text
    return visible_text(rendered.html)


def block(kind: str, /, **members: Any) -> dict[str, Any]:
    return {"wake_blocks": 1, "blocks": [{"type": kind, **members}]}


def chart(**members: Any) -> dict[str, Any]:
    series = [{"name": "Visits", "values": [1, 2]}]
    members = {"kind": "bar", "labels": ["a", "b"], "series": series, **members}
    return block("chart", **members)


@pytest.mark.parametrize(
    "details",
    [
        {"wake_blocks": 1, "blocks": [], "command": SECRET},
        {"wake_blocks": 1, "blocks": [], "proposal": SECRET},
        {"wake_blocks": 1, "blocks": [], "text": SECRET},
        block("markdown", text="a", command=SECRET),
        block("text", text="a", title=LONG),
        block("text", text="a", title=[SECRET]),
        block("code", text="a", language=SECRET),
        block("code", text="a", language=[SECRET]),
        block("diff", before=SECRET, after=SECRET),
        block("diff", before=f"{SECRET}\n" + "a\n" * 50 + "b", after=f"{SECRET}\n" + "a\n" * 50),
        block("diff", text="a", after=SECRET),
        block("table", columns=["A"], rows=[["a", SECRET]]),
        block("table", columns=["A"], rows=[[{"b": SECRET}]]),
        block("table", columns=[{"b": SECRET}], rows=[["a"]]),
        block("table", columns=["A"], rows=[[LONG]]),
        chart(labels=["a", LONG]),
        chart(unit=SECRET),
        chart(unit=[SECRET]),
        chart(series=[{"name": "Visits", "values": [1, 2], "note": SECRET}]),
        chart(series=[{"name": LONG, "values": [1, 2]}]),
        block("link", url="https://a.example/" + SECRET.replace(" ", ""), label="Here"),
        block("link", url="https://a.example/", label=[SECRET]),
        block("hologram", text="a", command=SECRET),
        block("choice", options=[{**OPTION, "command": SECRET}]),
        block("choice", options=[{**OPTION, "text": [SECRET]}]),
        block("choice", options=[{**OPTION, "text": LONG}]),
        block("choice", options=[{**OPTION, "label": LONG}]),
        block("choice", options=[{**OPTION, "id": SECRET}]),
        block("choice", options=[OPTION], title=SECRET),
        block("choice", options=[OPTION], name=SECRET),
        block("choice", options=[OPTION], label=[SECRET]),
        block("field", name=SECRET, label="Amount"),
        block("field", name="a", label=[SECRET]),
        block("field", name="a", label=LONG),
        block("field", name="a", command=SECRET),
        {"list": [{"from": "a", "said": "b", "at": SECRET}]},
        {"list": [{"from": LONG, "said": "b"}]},
        {"a": LONG},
        {LONG: "a"},
        {"list": [f"line {number}" for number in range(30)] + [SECRET]},
        {"a": {"b": {"c": {"d": {"e": SECRET}}}}},
        {"after": SECRET, "before": "pay 9", **{f"a{number}": number for number in range(390)}},
    ],
    ids=lambda details: json.dumps(details)[:80],
)
def test_a_text_is_in_sight(details: dict[str, Any]) -> None:
    text = "".join(shown(details).split())

    assert SECRET.replace(" ", "") in text


@pytest.mark.parametrize("apart", [True, False], ids=["inputs apart", "together"])
def test_what_an_input_does_not_show_is_below_it(apart: bool) -> None:
    field = {"type": "field", "name": "amount", "value": "10", "command": SECRET}
    choice = {"type": "choice", "options": [{**OPTION, "command": "rm -rf"}], "title": "On top"}
    details = {"wake_blocks": 1, "blocks": [field, choice]}
    rendered = render(json.dumps(details), inputs_apart=apart)

    assert rendered is not None
    text = visible_text(rendered.html)
    assert SECRET in text
    assert "rm -rf" in text
    assert "On top" in text


def test_names_that_look_the_same_are_shown_as_they_were_sent() -> None:
    text = shown({"amount_due": 10, "Amount due": 90_000, "\u0430mount_due": 7})

    assert "amount_due" in text
    assert "Amount due" in text
    assert "⟨Cyrillic and Latin letters⟩" in text


def test_blank_texts_and_names_are_said_to_be_blank() -> None:
    text = shown({"a": "   ", "": "b", " ": "c"})

    assert "3 blank characters" in text
    assert "no name" in text
    assert "1 blank character" in text


@pytest.mark.parametrize(
    "amount", ["10.999", "-0", "1e3", "0.5000", "007"], ids=lambda amount: amount
)
def test_an_unusual_amount_is_shown_as_it_was_sent(amount: str) -> None:
    text = shown({"a": "b", "amount": amount, "currency": "EUR"})

    assert amount in text
    assert "Currency" in text


def test_two_options_of_one_look_show_their_ids() -> None:
    options = [
        {"id": "yes", "label": "Yes"},
        {"id": "yes-delete", "label": "Y\u0435s"},  # with a Cyrillic letter
        {"id": "no", "label": "No"},
    ]

    text = shown(block("choice", options=options)).split()

    assert "yes" in text
    assert "yes-delete" in text
    assert "no" not in text


def test_a_closed_fold_names_what_it_has() -> None:
    labels = [f"day {number}" for number in range(300)]
    series = [{"name": "Visits", "values": list(range(300))}]
    details = chart(kind="line", labels=labels, series=series)

    rendered = render(json.dumps(details))

    assert rendered is not None
    assert "Table of 300 figures" in visible_text(rendered.html)
    assert rendered.left_out == ("300 figures of a chart, in its table",)


def test_equal_lines_of_a_long_comparison_are_counted() -> None:
    before = "".join(f"line {number}\n" for number in range(400))

    rendered = render(json.dumps(block("diff", before=before, after=f"{before}one more\n")))

    assert rendered is not None
    assert rendered.left_out == ("397 lines equal on both sides of a comparison, in the raw view",)
