"""A rule reads values only as the page shows them. Once, `"amount": 10` stood beside blocks that
showed EUR 90,000, and the rule compared the 10 and approved."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from inbox.rendering.blocks import blocks_in as blocks_on_page
from inbox.rendering.json_text import read
from tests.fixtures.answering_rules import run_rules
from tests.inbox.person import Person
from tests.types import MakeAnsweringRule, MakeDelivery
from wake.assignment.details import Details, blocks_in
from wake.models import Delivery, Trial


@pytest.fixture
def small_amounts(make_answering_rule: MakeAnsweringRule) -> None:
    make_answering_rule(on=True, pointer="/amount", operator="at_most", value="100")


def approved(delivery: Delivery) -> bool:
    run_rules(at=timezone.now() + timedelta(seconds=1))
    return Trial.objects.filter(delivery=delivery, approved_at__isnull=False).exists()


def blocks(*given: Any, **beside: Any) -> dict[str, Any]:
    return {"wake_blocks": 1, "blocks": list(given), **beside}


@pytest.mark.parametrize(
    "details",
    [
        {"amount": 10, "to": "A. Example"},
        {"amount": 10, "order": {"paid": 90_000}},
        {"amount": 10, "by": "Paramount Ltd."},
        blocks({"type": "text", "text": "Lunch"}, amount=10),
        blocks({"type": "field", "name": "amount", "kind": "number", "value": 10}),
        blocks({"type": "field", "name": "amount", "label": "Amount", "value": 10}),
        blocks({"type": "kv", "items": {"To": "A. Example"}}, amount=10),
        blocks({"type": "file", "blob": "0b9f3c1e", "name": "bill.pdf"}, amount=10),
    ],
    ids=json.dumps,
)
def test_a_value_that_is_shown_can_be_approved(
    small_amounts: None, make_delivery: MakeDelivery, details: dict[str, Any]
) -> None:
    assert approved(make_delivery(type="output", details_json=json.dumps(details)))


@pytest.mark.parametrize(
    "details",
    [
        blocks({"type": "kv", "items": {"Amount": 90_000}}, amount=10),
        blocks({"type": "kv", "items": {"amount": "EUR 90,000"}}, amount=10),
        blocks({"type": "json", "value": {"amount": 90_000}}, amount=10),
        blocks({"type": "field", "name": "amount", "value": 90_000}, amount=10),
        blocks({"type": "field", "name": "a", "label": "Amount", "value": 90_000}, amount=10),
        blocks({"type": "table", "columns": ["Amount"], "rows": [[90_000]]}, amount=10),
        blocks({"type": "table", "columns": ["", ""], "rows": [["Amount", 90_000]]}, amount=10),
        blocks({"type": "text", "text": "Lunch", "amount": 90_000}, amount=10),
        blocks(
            {"type": "field", "name": "amount", "value": 10},
            {"type": "field", "name": "amount", "value": 90_000},
        ),
        blocks({"type": "kv", "items": {"Amount": 10}}, amount=10),
        blocks({"type": "kv", "items": {"order": {"amount": 90_000}}}, amount=10),
        blocks({"type": "text", "text": "Amount: 90,000"}, amount=10),
        blocks({"type": "markdown", "text": "**Amounts**: 90,000"}, amount=10),
        blocks({"type": "markdown", "text": "|Amount|\n|-|\n|90,000|"}, amount=10),
        blocks({"type": "text", "title": "Amount", "text": "90,000"}, amount=10),
        blocks({"type": "text", "text": "AMOUNT90,000"}, amount=10),
        blocks({"type": "text", "text": "a-mount: 90,000"}, amount=10),
        blocks({"type": "text", "text": "a\u00admount: 90,000"}, amount=10),
        blocks(
            {"type": "chart", "kind": "bar", "labels": ["Amount"], "series": [[90_000]]}, amount=10
        ),
        blocks(
            {"type": "table", "columns": ["", "", ""], "rows": [["Amount", 90_000, "EUR"]]},
            amount=10,
        ),
        blocks({"type": "diff", "before": {"amount": 10}, "after": {"amount": 90_000}}, amount=10),
        blocks({"type": "json", "value": [{"amount": 90_000}]}, amount=10),
        blocks(
            {"type": "choice", "name": "amount", "options": [{"id": "90000", "label": "90,000"}]},
            amount=10,
        ),
        blocks({"type": "field", "name": "amount", "label": "Amount in thousands", "value": 10}),
        {"amount": 10, "order": {"amount": 90_000}},
        {"amount": 10, "order": {"amount_paid": 90_000}},
        {"amount": 10, "totalAmount": 90_000},
        {"amount": 10, "total\u0410mount": 90_000},
        {"amount": 10, "note": "The amount is 90,000."},
        {"amount": 10, "Amount": 90_000},
        {"amount": 10, "\u0430mount": 90_000},
        {"amount": 10, "aMOUNT": 90_000},
        {"amount": 10, "list": list(range(500))},
        {"amount": 10, "text": "x" * 200_000},
        {**{f"a{number}": number for number in range(450)}, "amount": 10},
    ],
    ids=lambda details: json.dumps(details)[:90],
)
def test_another_value_of_the_name_or_a_text_out_of_sight_goes_to_people(
    small_amounts: None, make_delivery: MakeDelivery, details: dict[str, Any]
) -> None:
    assert not approved(make_delivery(type="output", details_json=json.dumps(details)))


@pytest.mark.parametrize("field", ["headline", "summary", "assumption"])
def test_the_name_in_a_text_beside_the_details_goes_to_people(
    small_amounts: None, make_delivery: MakeDelivery, field: str
) -> None:
    text: Any = {field: "Amount: 90,000"}

    assert not approved(make_delivery(type="output", details_json='{"amount": 10}', **text))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("id", "ID 17"),
        ("id", "Id 17"),
        ("return", "RETURN 17"),
        ("return", "retum 17"),
        ("newOrder", "new order"),
        ("wire", "VVIRE"),
        ("env", "\u0435nv: production"),
    ],
)
def test_a_name_that_looks_the_same_goes_to_people(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery, name: str, text: str
) -> None:
    make_answering_rule(on=True, pointer=f"/{name}", operator="at_most", value="100")

    alone = make_delivery(type="output", details_json=json.dumps({name: 10}))
    beside = make_delivery(type="output", details_json=json.dumps({name: 10, "x": text}))

    assert approved(alone)
    assert not approved(beside)


@pytest.mark.parametrize(
    ("pointer", "details"),
    [("/lines/0/tip", {"lines": [{"tip": 10}]}), ("/tips/1", {"tips": [90_000, 10]})],
)
def test_a_value_in_a_list_is_known_by_the_name_above_it(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    pointer: str,
    details: dict[str, Any],
) -> None:
    make_answering_rule(on=True, pointer=pointer, operator="at_most", value="100")
    named = {**details, "note": "Tips: 90,000"}

    assert approved(make_delivery(type="output", details_json=json.dumps(details)))
    assert not approved(make_delivery(type="output", details_json=json.dumps(named)))


def test_a_text_that_says_its_own_name_can_be_approved(
    make_answering_rule: MakeAnsweringRule, make_delivery: MakeDelivery
) -> None:
    make_answering_rule(on=True, pointer="/branch", operator="is", value="branch-17")

    assert approved(make_delivery(type="output", details_json='{"branch": "branch-17"}'))


@pytest.mark.parametrize(
    ("pointer", "details"),
    [
        ("/blocks/0/value", blocks({"type": "field", "name": "tip", "value": 10})),
        ("/blocks/0/items/amount", blocks({"type": "kv", "items": {"amount": 10}})),
        ("/wake_blocks", blocks()),
        ("/list/4999", {"list": [10] * 5_000}),
        ("/0", [10, 90_000]),
    ],
)
def test_a_place_that_an_agent_chooses_or_no_page_shows_goes_to_people(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
    pointer: str,
    details: Any,
) -> None:
    make_answering_rule(on=True, pointer=pointer, operator="at_most", value="100")

    assert not approved(make_delivery(type="output", details_json=json.dumps(details)))


@pytest.mark.parametrize(
    ("version", "has_blocks"),
    [
        ("1", True),
        *[(text, False) for text in ("1.0", "1e0", "1E0", "10e-1", "-1", "2", "true", '"1"')],
        *[(text, False) for text in ("null", "[1]", "{}", "0.99999999999999999999", "1e9999")],
    ],
)
def test_rules_and_the_page_take_the_same_details_for_blocks(
    version: str, has_blocks: bool
) -> None:
    text = f'{{"wake_blocks": {version}, "blocks": []}}'
    by_rules = blocks_in(Details(Delivery(details_json=text)).document)

    assert (by_rules is not None) is has_blocks
    assert (blocks_on_page(read(text)) is not None) is has_blocks


def test_the_thread_that_a_rule_compares_is_on_the_page(
    bob: User, make_delivery: MakeDelivery
) -> None:
    page = Person(bob).see(make_delivery(thread="refunds/\u202e17")).content.decode()

    assert ">refunds/⟨U+202E⟩17</bdi>" in page
