"""A rule compares one value in the details. A JSON pointer names the value (RFC 6901)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wake.assignment.details import Details, Missing, is_pointer, value_at
from wake.models import Delivery

# RFC 6901, section 5.
DOCUMENT = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/e^f", 3),
        ("/g|h", 4),
        ("/i\\j", 5),
        ('/k"l', 6),
        ("/ ", 7),
        ("/m~0n", 8),
    ],
)
def test_the_examples_of_the_rfc(pointer: str, value: Any) -> None:
    assert is_pointer(pointer)
    assert value_at(pointer, DOCUMENT) == value


@pytest.mark.parametrize("pointer", ["/foo/2", "/foo/-", "/foo/01", "/foo/x", "/bar", "/foo/0/1"])
def test_a_value_that_is_not_there(pointer: str) -> None:
    with pytest.raises(Missing):
        value_at(pointer, DOCUMENT)


def test_a_tilde_is_decoded_once() -> None:
    assert value_at("/~01", {"~1": "yes"}) == "yes"


@pytest.mark.parametrize("text", ["foo", "/a~", "/a~2", "#/foo"])
def test_what_is_no_pointer(text: str) -> None:
    assert not is_pointer(text)


@pytest.mark.parametrize(
    ("details", "operator", "text", "matches"),
    [
        ({"v": 12}, "is", "12", True),
        ({"v": 12}, "is", "12.0", True),
        ({"v": "12"}, "is", "12", True),
        ({"v": True}, "is", "true", True),
        ({"v": True}, "is", "1", False),
        ({"v": None}, "is", "null", True),
        ({"v": [1]}, "is", "1", False),
        ({"v": "EUR"}, "is_not", "USD", True),
        ({"v": "EUR"}, "is_not", "EUR", False),
        ({}, "is_not", "EUR", False),
        ({"v": 0.1}, "at_least", "0.1", True),
        ({"v": 500}, "at_least", "500.01", False),
        ({"v": "500"}, "at_least", "1", False),
        ({"v": True}, "at_least", "1", False),
        ({"v": -3}, "at_most", "-3", True),
        ({"v": 4}, "at_most", "3", False),
        ({"v": "Refund asked"}, "contains", "refund", True),
        ({"v": ["a", 2]}, "contains", "2", True),
        ({"v": {"key": 1}}, "contains", "key", True),
        ({"v": 12}, "contains", "1", False),
    ],
)
def test_comparisons(details: Any, operator: str, text: str, matches: bool) -> None:
    delivery = Delivery(details_json=json.dumps(details))

    assert Details(delivery).compare("/v", operator, text) is matches


def test_the_whole_document_may_be_a_text() -> None:
    delivery = Delivery(details_json='"Please refund order 12."')

    assert Details(delivery).compare("", "contains", "refund")
    assert not Details(delivery).compare("/v", "contains", "refund")


@pytest.mark.parametrize(
    "text",
    [
        None,
        "[" * 100_000,
        '{"v": NaN}',
        '{"v": {"v": 1}}',
        "no json",
    ],
)
def test_details_that_cannot_be_compared_match_nothing(text: str | None) -> None:
    delivery = Delivery(details_json=text)

    for operator in ("is", "is_not", "at_least", "at_most"):
        compared = Details(delivery).compare("/v", operator, "1")
        assert not compared or (operator, text) == ("is_not", '{"v": {"v": 1}}')


@pytest.mark.parametrize(
    ("number", "is_large"),
    [("1e-99999999999999999999", False), ("1e99999999999999999999", True)],
)
def test_a_number_with_an_exponent_out_of_bounds_is_compared_and_hides_no_other(
    number: str, is_large: bool
) -> None:
    details = Details(Delivery(details_json=f'{{"v": {number}, "total": 5000}}'))

    assert details.compare("/v", "at_least", "1") is is_large
    assert details.compare("/total", "at_least", "1000")


def test_a_number_of_many_digits_is_compared() -> None:
    delivery = Delivery(details_json='{"v": 1' + "0" * 5_000 + "}")

    assert Details(delivery).compare("/v", "at_least", "5")
