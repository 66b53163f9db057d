"""A row that a person answered stays in its place, struck through, until the hold ends."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.utils import timezone

from inbox.answering.acknowledged import KEY
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery
from wake.models import Delivery, Response


def row_of(page: Any, delivery: Delivery) -> str:
    """Returns the row's HTML, or an empty text if the page has no such row."""
    match = re.search(
        rf'<li class="[^"]*"\s+id="row-{delivery.pk}".*?</li>', page.content.decode(), re.S
    )
    return match[0] if match else ""


@pytest.fixture
def rows(make_delivery: MakeDelivery) -> list[Delivery]:
    """Returns three outputs in the order of the list, newest first."""
    return [make_delivery(headline=f"Report {number}") for number in (2, 1, 0)][::-1]


def test_a_question_mark_is_followed_by_no_full_stop(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    alices.answer(make_delivery(type="question", headline="May I?"))

    assert "May I? Goes to the agent in 10 s." in text_of(alices.get("/"))


def test_an_answered_row_stays_in_its_place_with_undo(alices: Person, rows: list[Delivery]) -> None:
    alices.answer(rows[1])

    page = alices.get("/")

    text = text_of(page)
    assert text.index("Report 0") < text.index("Report 1 ") < text.index("Report 2")
    row = row_of(page, rows[1])
    assert "row--done" in row
    assert "Goes to the agent in 10 s." in row
    assert f'formaction="/deliveries/{rows[1].pk}/undo"' in row
    assert ">Approve<" not in row
    assert "checkbox" not in row
    assert "Two deliveries need you" in text
    assert "For review 2" in text


def test_several_answered_rows_stay_until_their_hold_ends(
    alices: Person, rows: list[Delivery]
) -> None:
    alices.answer(rows[0])
    alices.answer(rows[1], "rejected", feedback="Too long.")
    Response.objects.filter(delivery=rows[0]).update(responded_at=timezone.now())

    page = alices.get("/")

    assert row_of(page, rows[0]) == ""
    assert "Rejected." in row_of(page, rows[1])


def test_the_answer_of_a_colleague_is_not_struck_and_has_no_undo(
    alices: Person, bobs: Person, rows: list[Delivery]
) -> None:
    bobs.answer(rows[0])

    row = row_of(alices.get("/"), rows[0])

    assert "row--done" not in row
    assert "Answering now:" in row
    assert "/undo" not in row


def test_an_acknowledged_row_stays_for_a_moment_only(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    update = make_delivery(type="update", headline="Indexed")
    alices.client.post("/acknowledgements", {"deliveries": str(update.pk)})

    assert "No answer was sent." in row_of(alices.get("/"), update)

    session = alices.client.session
    session[KEY] = [{**session[KEY][0], "at": session[KEY][0]["at"] - 11}]
    session.save()
    page = alices.get("/")
    assert row_of(page, update) == ""
    assert "Acknowledged: Indexed." in text_of(page)


def test_each_got_it_can_be_undone_after_the_next(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    first, second = (make_delivery(type="update", headline=name) for name in ("First", "Second"))
    for update in (first, second):
        alices.client.post("/acknowledgements", {"deliveries": str(update.pk)})

    page = alices.get("/")
    assert "Acknowledged: Second." in text_of(page)
    assert "row--done" in row_of(page, first)

    back = alices.client.post("/acknowledgements/undo", {"deliveries": str(first.pk)}, follow=True)

    assert "row--done" not in row_of(back, first)
    assert "row--done" in row_of(back, second)
    assert "Back in the inbox." in text_of(back)


def test_a_delivery_that_was_brought_back_elsewhere_is_open(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    update = make_delivery(type="update")
    alices.client.post("/acknowledgements", {"deliveries": str(update.pk)})
    Delivery.objects.update(acknowledged_at=None, acknowledged_by="")

    assert "row--done" not in row_of(alices.get("/"), update)


def test_an_undo_says_what_was_undone(alices: Person, rows: list[Delivery]) -> None:
    alices.answer(rows[0])

    page = alices.client.post(f"/deliveries/{rows[0].pk}/undo", {"back": ""}, follow=True)

    assert "Undone: Report 0" in text_of(page)
    assert "row--done" not in row_of(page, rows[0])


def test_the_last_answer_leaves_a_clear_inbox(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery()

    page = alices.client.post(
        f"/deliveries/{delivery.pk}/response",
        {"status": "approved", "content_hash": delivery.content_hash},
        follow=True,
    )

    assert "You're all caught up" in text_of(page)
    assert "row--done" in row_of(page, delivery)


def test_got_it_is_the_main_action_of_an_alert(alices: Person, make_delivery: MakeDelivery) -> None:
    alert, update = make_delivery(type="alert"), make_delivery(type="update")

    page = alices.get("/")

    for delivery in (alert, update):
        assert '<button class="button" type="submit"' in row_of(page, delivery)
        assert ">Got it<" in row_of(page, delivery)
        assert ">Approve<" not in row_of(page, delivery)
