"""A person answers on the page, and an invalid form sends nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from accounts.models import Membership
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
    """The page and respond() both check the role. An owner changes the role between the two
    checks."""
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
