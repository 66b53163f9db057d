"""A person answers on the page, and an invalid form sends nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection

from accounts.models import Membership
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person, text_of
from tests.types import Age, MakeDelivery
from wake.models import Delivery, Response


@pytest.mark.parametrize("type", Delivery.Type.values)
@pytest.mark.parametrize("status", ["approved", "rejected", "redirected"])
def test_there_are_three_answers_for_every_type(
    alices: Person, make_delivery: MakeDelivery, type: str, status: str
) -> None:
    delivery = make_delivery(type=type)

    answer = alices.answer(delivery, status, feedback="Keep it short.\r\nThanks")

    assert (answer.status_code, answer["Location"]) == (303, f"/?answered={delivery.pk}")
    response = Response.objects.get(delivery=delivery)
    assert (response.status, response.feedback) == (status, "Keep it short.\nThanks")
    assert response.by == alices.user


def test_the_next_page_says_where_the_answer_is(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(headline="Release notes drafted")

    page = alices.client.get(alices.answer(delivery)["Location"])

    notice = text_of(page)
    assert "Approved: Release notes drafted. Goes to the agent in 10 s. Undo" in notice


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


@pytest.mark.parametrize("hash", ["", "0" * 64])
def test_an_unseen_version_cannot_be_answered(
    alices: Person, make_delivery: MakeDelivery, hash: str
) -> None:
    delivery = make_delivery()

    refused = alices.answer(delivery, feedback="my words", content_hash=hash)

    assert refused.status_code == 422
    assert "my words" in text_of(refused)
    assert "Read it again, then answer" in text_of(refused)
    assert not Response.objects.exists()
    again = refused.context["delivery"].content_hash
    assert alices.answer(delivery, content_hash=again).status_code == 303


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"status": ""}, "Choose an answer."),
        ({"status": "pending"}, "Choose an answer."),
        ({"edited_as": "yaml", "edited_content": "x"}, "as JSON or as text"),
        ({"feedback": "x" * 20_001}, "too long (20,000 characters at most)"),
        ({"feedback": "a\x00b"}, "Null characters are not allowed."),
        ({"edited_content": "x" * 262_145, "status": "redirected"}, "The edit is too long"),
        ({"status": "redirected"}, "Nothing to send yet"),
        ({"status": "redirected", "feedback": " \n "}, "Nothing to send yet"),
    ],
)
def test_invalid_input_is_refused_with_a_sentence(
    alices: Person, make_delivery: MakeDelivery, fields: dict[str, str], reason: str
) -> None:
    answer = alices.answer(make_delivery(), **fields)

    assert answer.status_code == 422
    assert reason in text_of(answer)
    assert not Response.objects.exists()


def test_the_second_person_sees_who_answered_when_and_how(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json='"old"')
    alices.answer(delivery, "rejected", feedback="Not like this.")
    first = Response.objects.get()

    conflict = bobs.answer(
        delivery, "redirected", feedback="my feedback", edited_content="my edit", edited_as="text"
    )

    assert conflict.status_code == 409
    page = text_of(conflict)
    assert f"Rejected by alice at {first.answered_at:%H:%M}." in page
    assert "Not like this." in page
    assert "Your answer wasn't sent. Copy what you need." in page
    assert "You chose: Changes requested." in page
    assert "my feedback" in page
    assert "my edit" in page
    assert Response.objects.get() == first


@pytest.mark.parametrize(
    "fields", [{"edited_content": "{oops", "edited_as": "json"}, {"content_hash": ""}]
)
def test_a_conflict_is_reported_before_other_errors(
    alices: Person, bobs: Person, make_delivery: MakeDelivery, fields: dict[str, str]
) -> None:
    delivery = make_delivery(details_json='{"a": 1}')
    alices.answer(delivery)

    conflict = bobs.answer(delivery, "redirected", feedback="my feedback", **fields)

    assert conflict.status_code == 409
    assert "my feedback" in text_of(conflict)
    assert fields.get("edited_content", "") in text_of(conflict)


def test_a_conflict_keeps_fields_that_cannot_be_read_yet(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json='{"title": "Old", "share": 5}')
    alices.answer(delivery)
    typed = {"field-0": "My words", "field-1": "many"}

    conflict = bobs.answer(delivery, "redirected", edited_as="fields", **typed)

    assert conflict.status_code == 409
    assert "Title: My words" in text_of(conflict)
    assert "Share: many" in text_of(conflict)


def test_a_double_click_is_one_answer(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery()

    answers = [alices.answer(delivery, feedback="Good.") for _ in range(2)]

    assert [answer.status_code for answer in answers] == [303, 303]
    assert Response.objects.count() == 1


def test_a_persons_own_different_answer_is_a_conflict_too(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    alices.answer(delivery)

    assert alices.answer(delivery, "rejected").status_code == 409
    assert Response.objects.get().status == "approved"


@pytest.mark.parametrize("fields", [{}, {"status": "nonsense"}, {"edited_content": "{"}])
def test_a_reader_is_refused_with_a_page(
    ritas: Person, make_delivery: MakeDelivery, fields: dict[str, str]
) -> None:
    delivery = make_delivery()

    answer = ritas.answer(delivery, **fields)

    assert answer.status_code == 403
    assert "Your role in this team does not allow this." in text_of(answer)
    assert not Response.objects.exists()


@pytest.mark.parametrize("action", ["response", "continue", "saved-replies", "edit"])
def test_a_refused_answer_shows_what_the_person_wrote(
    ritas: Person, make_delivery: MakeDelivery, action: str
) -> None:
    delivery = make_delivery(details_json='{"title": "Old"}')
    edit = {"edited_as": "json", "edited_content": '{"title": "New"}'}

    answer = ritas.post(delivery, action, status="redirected", feedback="Cut three.", **edit)

    assert answer.status_code == 403
    page = text_of(answer)
    assert "Your answer wasn't sent" in page
    assert "A team owner can change it." in page
    assert "You chose: Changes requested." in page
    assert "Cut three.</textarea>" in answer.content.decode()
    assert "&quot;New&quot;" in answer.content.decode()
    assert not Response.objects.exists()


def test_a_removed_role_takes_effect_at_once(bobs: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery()
    Membership.objects.get(user=bobs.user).delete()

    assert bobs.answer(delivery).status_code == 404


def test_a_role_that_changes_during_an_answer_gives_a_403(
    bobs: Person, make_delivery: MakeDelivery
) -> None:
    """An owner is quicker by the moment between the page's look and the verb's."""
    delivery = make_delivery()

    def demote_as_the_verb_begins(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("SAVEPOINT"):
            Membership.objects.filter(user=bobs.user).update(role=Membership.Role.READER)
        return execute(sql, *rest)

    with connection.execute_wrapper(demote_as_the_verb_begins):
        answer = bobs.answer(delivery)

    assert answer.status_code == 403
    assert "Your role in this team does not allow this." in text_of(answer)
    assert not Response.objects.exists()


def test_a_late_answer_is_stored_and_labelled(
    alices: Person, make_delivery: MakeDelivery, age: Age
) -> None:
    delivery = make_delivery(timeout_seconds=60)
    age(delivery, minutes=5)

    before = text_of(alices.see(delivery))
    alices.answer(delivery)
    after = text_of(alices.see(delivery))

    assert "it will be marked as late and the agent may not read it" in before
    assert (
        "Late answer: the deadline had passed, so the agent may have gone ahead without it."
        in after
    )


def test_an_answer_takes_a_post(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery()

    for action in ("response", "undo"):
        assert alices.get(f"/deliveries/{delivery.pk}/{action}").status_code == 405


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
