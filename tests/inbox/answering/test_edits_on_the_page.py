"""People change what the agent proposed: as text, as JSON, or field by field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person, text_of
from tests.types import Age, MakeDelivery
from wake.models import Delivery, Response


def test_an_edited_json_document_reaches_the_agent_as_it_was_written(
    alices: Person, caller: AgentClient, age: Age
) -> None:
    delivery_id = caller.deliver(details={"brief": "old", "share": 0.1})
    delivery = Delivery.objects.get(pk=delivery_id)

    alices.answer(
        delivery, "redirected", edited_content='{"brief": "new", "share": 0.10}', edited_as="json"
    )
    age(delivery, seconds=11)

    polled = caller.poll(delivery_id)
    assert polled["status"] == "redirected"
    assert polled["edited_content"] == {"brief": "new", "share": 0.1}


@pytest.mark.parametrize(
    ("details", "sent", "kind", "stored"),
    [
        ('"old text"', "new\r\ntext", "text", '"new\\ntext"'),
        ('"old text"', "new text", "", '"new text"'),
        ('{"a": 1}', '{"a": 2}', "", '{"a": 2}'),
        ('{"a": 1}', "plain words", "text", '"plain words"'),
        ('"old"', '{"a": 1}', "json", '{"a": 1}'),
        ('"old"', '"a JSON text"', "json", '"a JSON text"'),
        (None, "words", "", '"words"'),
        (None, '{"a": 1}', "json", '{"a": 1}'),
        ('"was\\r\\nlines"', "new\r\nlines", "text", '"new\\r\\nlines"'),
    ],
)
def test_an_edit_has_the_agents_type_unless_the_person_switches(
    alices: Person,
    make_delivery: MakeDelivery,
    details: str | None,
    sent: str,
    kind: str,
    stored: str,
) -> None:
    delivery = make_delivery(details_json=details)
    how = {"edited_as": kind} if kind else {}

    answer = alices.answer(delivery, "redirected", edited_content=sent, **how)

    assert answer.status_code == 303
    assert Response.objects.get().edited_json == stored


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{oops", "Not valid JSON"),
        ('{"a": 1, "a": 2}', "The key 'a' is there twice."),
        ('{"a": NaN}', "NaN is not JSON."),
        ('{"a": 1e400}', "out of range"),
        ('{"a": 123456789012345678901}', "beyond 64 bits"),
        ('{"a": "\\u0000"}', "U+0000"),
        ('{"a": "\\ud800"}', "surrogate"),
        ("[1, 2]", "Edited content must be a JSON object or a text"),
        ("12", "Edited content must be a JSON object or a text"),
        ("true", "Edited content must be a JSON object or a text"),
        ("null", "Edited content must be a JSON object or a text"),
        ('{"a":' * 70 + "1" + "}" * 70, "nested deeper than 64"),
    ],
)
def test_an_edit_that_is_no_json_is_shown_again_with_the_reason(
    alices: Person, make_delivery: MakeDelivery, content: str, reason: str
) -> None:
    delivery = make_delivery(details_json='{"a": 1}')

    answer = alices.answer(
        delivery, "redirected", feedback="my words", edited_content=content, edited_as="json"
    )

    assert answer.status_code == 422
    page = text_of(answer)
    assert reason in page
    assert "Your text is kept below." in page
    assert content in page
    assert "my words" in page
    assert not Response.objects.exists()


def test_an_edit_that_changes_nothing_is_no_edit(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json='{"a": 1, "b": "caf\\u00e9"}')
    same = '{\r\n  "a": 1,\r\n  "b": "café"\r\n}'

    empty = alices.answer(delivery, "redirected", edited_content=same, edited_as="json")
    worded = alices.answer(
        delivery, "redirected", edited_content=same, edited_as="json", feedback="Shorter, please."
    )

    assert empty.status_code == 422
    assert "Nothing to send yet" in text_of(empty)
    assert worded.status_code == 303
    assert Response.objects.get().edited_json is None


@pytest.mark.parametrize("other", ['{"a": 1.0}', '{"a": "1"}', '{"a": true}'])
def test_a_change_that_an_agent_reads_differently_is_an_edit(
    alices: Person, make_delivery: MakeDelivery, other: str
) -> None:
    delivery = make_delivery(details_json='{"a": 1}')

    alices.answer(delivery, "redirected", edited_content=other, edited_as="json")

    assert Response.objects.get().edited_json == other


def test_only_a_redirect_carries_an_edit(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(details_json='"old"')

    answer = alices.answer(delivery, "approved", edited_content="new")

    assert answer.status_code == 422
    assert "Only a redirect can have edited content." in text_of(answer)
    assert ">\nnew</textarea>" in answer.content.decode()


def test_the_fields_of_a_flat_object_are_an_edit(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    details = '{"title": "Report", "share": 0.10, "final": false, "note": null, "size": 12}'
    delivery = make_delivery(details_json=details)

    answer = _send_fields(alices, delivery, **{"field-0": "Market report", "field-2": "true"})

    assert answer.status_code == 303
    stored = str(Response.objects.get().edited_json)
    assert json.loads(stored) == {
        "title": "Market report",
        "share": 0.1,
        "final": True,
        "note": None,
        "size": 12,
    }
    assert list(json.loads(stored)) == ["title", "share", "final", "note", "size"]
    assert '"share": 0.10' in stored


def test_a_field_that_was_a_number_stays_one(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(details_json='{"title": "Report", "size": 12}')

    answer = _send_fields(alices, delivery, **{"field-0": "New title", "field-1": "many"})

    assert answer.status_code == 422
    page = answer.content.decode()
    assert "Enter a number for Size, such as 12 or 0.5." in page
    assert 'value="New title"' in page
    assert 'value="many"' in page


def test_fields_that_were_left_alone_are_no_edit(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(
        details_json='{"lines": "one\\r\\ntwo", "hidden": "a\\u202eb", "n": 1.50, "none": null}'
    )
    untouched = {"field-0": "one\r\ntwo", "field-1": "a\u202eb", "field-2": "1.50", "field-3": ""}

    answer = _send_fields(alices, delivery, **untouched)

    assert answer.status_code == 422
    assert "Nothing to send yet" in text_of(answer)


def test_fields_are_refused_where_the_content_has_none(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    answer = _send_fields(alices, make_delivery(details_json='{"a": [1]}'), **{"field-0": "x"})

    assert answer.status_code == 422
    assert "can't be edited as fields" in text_of(answer)


def _send_fields(person: Person, delivery: Delivery, **fields: str) -> Any:
    return person.answer(delivery, "redirected", edited_as="fields", **fields)
