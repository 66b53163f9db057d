"""JSON is shown as what it means: a conversation, money, a time, or rows of a table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inbox.rendering.details import render


def html(value: Any) -> str:
    details = render(json.dumps(value))
    assert details is not None
    return details.html


def test_a_list_of_turns_reads_as_a_conversation() -> None:
    said = [
        {"from": "customer", "said": "I think I paid twice?"},
        {"from": "support-triage", "said": "Thank you.\nI look.", "at": "2026-11-18T19:02:00Z"},
    ]

    page = html({"conversation": said})

    assert page.count('class="talk__who"') == 2
    assert '<bdi dir="auto">customer</bdi></b>' in page
    assert "Thank you.\nI look." in page
    assert "18 Nov 2026, 19:02:00 UTC</time>" in page
    assert "fields" not in page


@pytest.mark.parametrize(
    "turn",
    [
        {"from": "customer"},
        {"from": "customer", "said": 7},
        {"from": "customer", "said": "x", "at": "y", "more": "z"},
        {"from": {"a": "b"}, "said": "x"},
        "customer: x",
    ],
)
def test_other_lists_are_no_conversation(turn: Any) -> None:
    assert "talk" not in html({"list": [{"from": "a", "said": "b"}, turn]})


@pytest.mark.parametrize("amount", ["5040.00", 5040])
def test_an_amount_and_its_currency_are_one_line_among_others(amount: Any) -> None:
    page = html({"bill": {"number": "KH-1", "amount": amount, "currency": "EUR"}})

    assert f'<span class="money">EUR 5,040{".00" if isinstance(amount, str) else ""}</span>' in page
    assert ">Amount</bdi>" in page
    assert "Currency" not in page


def test_a_currency_of_two_amounts_stays_apart() -> None:
    page = html({"value": 1, "amount": 2, "currency": "EUR", "note": "x"})

    assert "money" not in page
    assert ">Currency</bdi>" in page


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("i_did_not", "I did not"),
        ("customer_id", "Customer ID"),
        ("url", "URL"),
        ("vendor", "Vendor"),
        ("a", "a"),
        ("Vendor Name", "Vendor Name"),
        ("camelCase", "camelCase"),
    ],
)
def test_names_read_as_words(name: str, words: str) -> None:
    assert f">{words}</bdi>" in html({name: "x", "other": "y"})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"value": "180.00", "currency": "EUR"}, "EUR 180.00"),
        ({"amount": 1234567, "currency": "USD"}, "USD 1,234,567"),
        ({"currency": "JPY", "amount": "-1234.5"}, "JPY -1,234.5"),
    ],
)
def test_an_amount_with_a_currency_reads_as_money(value: Any, words: str) -> None:
    assert f'<span class="money">{words}</span>' in html({"price": value})


@pytest.mark.parametrize(
    "value",
    [
        {"value": "a lot", "currency": "EUR"},
        {"value": "1e9", "currency": "EUR"},
        {"value": "10.999", "currency": "EUR"},
        {"value": "-0.00", "currency": "EUR"},
        {"value": "0010", "currency": "EUR"},
        {"value": "\u0661\u0660", "currency": "EUR"},
        {"value": "1", "currency": "euro"},
        {"value": ["1"], "currency": "EUR"},
        {"value": "1" * 40, "currency": "EUR"},
        {"value": True, "currency": "EUR"},
    ],
)
def test_other_objects_are_not_money(value: Any) -> None:
    assert "money" not in html({"price": value})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-11-18", "18 Nov 2026"),
        ("2026-11-18T19:02:11Z", "18 Nov 2026, 19:02:11 UTC"),
        ("2026-11-18T19:02:11.123456+02:00", "18 Nov 2026, 19:02:11.123456 UTC+02:00"),
        ("2026-11-18 19:02", "18 Nov 2026, 19:02"),
    ],
)
def test_a_time_reads_as_one_and_keeps_its_zone(text: str, words: str) -> None:
    assert f'<time datetime="{text}">{words}</time>' in html({"at": text})


@pytest.mark.parametrize(
    "text", ["2026-02-30", "2026-11-18T25:00Z", "20261118", "2026-11-18T19:02Zx", "٢٠٢٦-11-18"]
)
def test_other_text_is_not_a_time(text: str) -> None:
    page = html({"at": text})

    assert "<time" not in page
    assert text in page.replace("<bdi>", "").replace("</bdi>", "")


def test_objects_of_one_shape_are_rows_of_a_table() -> None:
    page = html({"payments": [{"at": "2026-11-18", "eur": 180}, {"at": "2026-11-19", "eur": 20}]})

    assert '<th scope="col"><bdi dir="auto">At</bdi></th>' in page
    assert page.count("<tr>") == 3
    assert '<td class="cell-end"><span class="number">180</span></td>' in page


@pytest.mark.parametrize(
    "row", [{"a": 1}, {"b": 1, "a": 2}, {"a": 1, "b": [2]}, {"a": 1, "b": "x" * 81}, 7]
)
def test_rows_of_several_shapes_are_no_table(row: Any) -> None:
    assert "<table" not in html({"list": [{"a": 1, "b": 2}, row]})


def test_a_long_list_shows_its_beginning_and_folds_the_rest() -> None:
    page = html({"list": [f"a rather long line number {number}" for number in range(40)]})

    shown, _, folded = page.partition("<details")
    assert "line number 11" in shown
    assert "line number 12" not in shown
    assert "Show 28 more" in folded
    assert "line number 39" in folded


def test_a_small_object_inside_another_needs_no_click() -> None:
    page = html({"evidence": {"same_card": True, "count": 2}})

    assert "<details" not in page
    assert "Same card" in page
    assert "2 fields" not in page
    assert html({"a": {"b": {"c": {"d": {"e": 1}}}}}).count("<details") == 2
