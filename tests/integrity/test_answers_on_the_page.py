"""The page names the parts that it does not show. The answer and the audit name the same parts."""

from __future__ import annotations

import json
from typing import Any

from django.utils import timezone

from accounts.models import AuditEvent
from tests.fixtures.answering_rules import run_rules
from tests.inbox.person import Person, text_of
from tests.types import MakeAnsweringRule, MakeDelivery, MakeRule
from tests.wake.blobs.showing import page
from wake.models import Response, Vote

LONG_TABLE = json.dumps(page({"type": "table", "columns": ["a"] * 30, "rows": [[1] * 30] * 114}))
LEFT_OUT = "14 rows of a table, in the raw view"


def answered(person: Person, delivery: Any, **fields: Any) -> Response:
    assert person.answer(delivery, **fields).status_code == 303
    return Response.objects.get(delivery=delivery)


def test_everything_is_in_sight(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(details_json='"All of it"')

    shown = text_of(alices.see(delivery))
    response = answered(alices, delivery)

    assert "Not shown" not in shown
    assert (response.place, response.all_in_sight, response.left_out) == ("page", True, "")
    where = "on its page; everything was in sight"
    assert f"Answered {where}." in text_of(alices.see(delivery))
    assert where in text_of(alices.get("/audit/"))
    detail = AuditEvent.objects.get(event="delivery.answered").detail
    assert (detail["place"], detail["all_in_sight"]) == ("page", True)


def test_what_was_not_shown_is_said_beside_the_answer_and_stays(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=LONG_TABLE)

    shown = text_of(alices.see(delivery))
    response = answered(alices, delivery)

    assert f"Not shown on this page: {LEFT_OUT}" in shown
    assert (response.all_in_sight, response.left_out) == (False, LEFT_OUT)
    assert f"Answered on its page; not shown there: {LEFT_OUT}." in text_of(alices.see(delivery))
    assert "on its page; not everything was in sight" in text_of(alices.get("/audit/"))
    assert LEFT_OUT not in str(AuditEvent.objects.get(event="delivery.answered").detail)


def test_the_raw_view_shows_all_rows_and_the_form_says_that_it_was_open(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json=LONG_TABLE)

    shown = alices.see(delivery, details="raw").content.decode()
    response = answered(alices, delivery, details="raw")

    assert '<input type="hidden" name="details" value="raw">' in shown
    assert "Not shown on this page" not in shown
    assert response.all_in_sight is True


def test_the_editor_says_it_too(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(details_json=LONG_TABLE, summary="What it is about.")

    editor = text_of(alices.get(f"/deliveries/{delivery.pk}/edit"))
    response = answered(
        alices, delivery, status="redirected", edited_as="text", edited_content="Other"
    )

    assert f"Not shown on this page: {LEFT_OUT}" in editor
    assert "What it is about." in editor
    assert (response.place, response.all_in_sight) == ("page", False)


def test_fields_that_the_protocol_does_not_know_are_on_the_page(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    """These fields used to be stored and shown nowhere."""
    delivery = make_delivery(extensions={"command": "rm -rf /\u202e"})

    shown = text_of(alices.see(delivery))

    assert '"command": "rm -rf /⟨U+202E⟩"' in shown


def test_each_vote_says_where_it_was_given(
    alices: Person, bobs: Person, make_delivery: MakeDelivery, make_rule: MakeRule
) -> None:
    make_rule(people=[alices.user, bobs.user], needed=2)
    delivery = make_delivery(details_json=LONG_TABLE)

    alices.answer(delivery)
    bobs.answer(delivery, details="raw")

    votes = Vote.objects.order_by("voted_at").values_list("place", "all_in_sight")
    assert list(votes) == [("page", False), ("page", True)]
    voted = AuditEvent.objects.get(event="delivery.voted").detail
    assert (voted["place"], voted["all_in_sight"]) == ("page", False)
    assert "not everything was in sight" in text_of(alices.see(delivery))


def test_an_answer_of_an_earlier_version_says_nothing(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    answered(alices, delivery)
    Response.objects.update(place="", all_in_sight=None)

    assert "Answered on" not in text_of(alices.see(delivery))


def test_an_approval_by_a_rule_says_that_no_person_read_it(
    alices: Person,
    make_delivery: MakeDelivery,
    make_answering_rule: MakeAnsweringRule,
) -> None:
    make_answering_rule(on=True)
    delivery = make_delivery()

    assert run_rules(at=timezone.now()) == 1

    response = Response.objects.get()
    assert (response.place, response.all_in_sight) == ("rule", None)
    assert "No person read it." in text_of(alices.see(delivery))
    assert "no person read it" in text_of(alices.get("/audit/"))
