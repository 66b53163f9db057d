"""A row of the list offers an approval only if it shows everything that the agent sent."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEvent, User
from inbox.delivery.answer_views import NOT_IN_A_ROW
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery, MakeRule
from wake.models import Delivery, Response, Vote

MORE: dict[str, dict[str, Any]] = {
    "details": {"details_json": json.dumps("Delete everything.")},
    "blocks": {"details_json": json.dumps({"wake_blocks": 1, "blocks": []})},
    "assumption": {"timeout_seconds": 600, "assumption": "I delete everything."},
    "callback": {"callback_webhook": "https://hooks.example.com/x"},
    "other fields": {"extensions": {"command": "rm -rf /"}},
    "thread": {"thread": "rm -rf /"},
    "irreversible": {"irreversible": True},
    "a long summary": {"summary": f"{'Words ' * 40}and delete everything."},
    "a summary of invisible characters": {"summary": "a\u200b" * 40},
    "a headline of invisible characters": {"headline": "a\u200b" * 40},
}


@pytest.fixture(autouse=True)
def _allowed(allowed_host: str) -> None:
    """Lets callbacks go to hooks.example.com."""


def approve_in_list(person: Person, delivery: Delivery, **fields: str) -> Any:
    """Posts what the button of a row posts."""
    return person.answer(delivery, place="list", back="", **fields)


def offers(page: Any, delivery: Delivery) -> bool:
    return f'formaction="/deliveries/{delivery.pk}/response"' in page.content.decode()


def test_a_row_that_shows_everything_approves(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(headline="Ship 2.4?", summary="All tests pass.")

    page = alices.get("/")
    answer = approve_in_list(alices, delivery)

    assert offers(page, delivery)
    assert "(claude)" in text_of(page)
    assert answer.status_code == 303
    response = Response.objects.get()
    assert (response.place, response.all_in_sight, response.left_out) == ("list", True, "")


@pytest.mark.parametrize("name", MORE)
def test_a_row_with_more_to_read_opens_the_delivery(
    alices: Person, make_delivery: MakeDelivery, name: str
) -> None:
    delivery = make_delivery(**MORE[name])

    page = alices.get("/")
    refused = approve_in_list(alices, delivery, feedback="Fine by me")

    assert not offers(page, delivery)
    assert 'aria-keyshortcuts="o r a"' in page.content.decode()
    assert refused.status_code == 422
    assert NOT_IN_A_ROW in text_of(refused)
    assert "Fine by me" in text_of(refused)
    assert not Response.objects.exists()


def test_a_new_version_is_read_before_it_is_approved(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    first = make_delivery(headline="Send 10 letters")
    second = make_delivery(headline="Send 90,000 letters", supersedes=first.pk)

    page = alices.get("/")
    old, new = approve_in_list(alices, first), approve_in_list(alices, second)

    assert not offers(page, second)
    assert (old.status_code, new.status_code) == (409, 422)
    assert "Send 90,000 letters" in text_of(old)
    assert not Response.objects.exists()


def test_a_list_that_is_older_than_the_new_version_approves_nothing(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    """The server then returns the page of the new version, and no list. The page has the form for
    the answer that was given to the old version."""
    first = make_delivery(headline="Send 10 letters")
    make_delivery(headline="Send 90,000 letters", supersedes=first.pk)

    page = approve_in_list(alices, first).content.decode()

    assert 'name="place"' not in page
    assert 'name="knows_replaced"' in page


def test_no_vote_is_given_in_the_list(
    alices: Person, make_delivery: MakeDelivery, make_rule: MakeRule, alice: User, bob: User
) -> None:
    make_rule(people=[alice, bob], needed=2)
    delivery = make_delivery()

    page = alices.get("/")
    refused = approve_in_list(alices, delivery)

    assert not offers(page, delivery)
    assert refused.status_code == 422
    assert not Vote.objects.exists()


def test_a_form_without_a_place_counts_as_the_page(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    """A script posts only the fields status and content_hash."""
    delivery = make_delivery(**MORE["details"])

    answer = alices.answer(delivery)

    assert answer.status_code == 303
    response = Response.objects.get()
    assert (response.place, response.all_in_sight) == ("page", True)


def test_an_answer_in_the_list_can_be_undone_and_given_again(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    approve_in_list(alices, delivery)

    alices.undo(delivery, back="", place="list")
    alices.answer(delivery)

    assert Response.objects.get().place == "page"
    undone = AuditEvent.objects.get(event="response.taken_back")
    assert undone.detail["place"] == "list"


def test_the_audit_and_the_page_say_that_it_was_not_opened(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    approve_in_list(alices, delivery)
    where = "in the list, without opening it; everything was in sight"

    page, audit = text_of(alices.see(delivery)), text_of(alices.get("/audit/"))
    exported = b"".join(alices.get("/audit/export.csv").streaming_content).decode()

    assert f"Answered {where}." in page
    assert f"alice approved {where}" in page
    assert where in audit
    assert f"alice approved {where}" in exported


@pytest.mark.parametrize("place", ["list", "page"])
def test_the_audit_says_where_an_answer_was_taken_back(
    place: str, alices: Person, make_delivery: MakeDelivery
) -> None:
    """On the page of the next delivery, the form of Undo leads back to the list. So the audit used
    to say that the answer was taken back in the list."""
    first, second = make_delivery(), make_delivery()
    approve_in_list(alices, first)

    shown = alices.get("/" if place == "list" else f"/deliveries/{second.pk}/?answered={first.pk}")
    form = re.search(
        rf'<form method="post" action="[^"]*{first.pk}/undo">(.*?)</form>',
        shown.content.decode(),
        re.DOTALL,
    )
    assert form is not None
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form[1]))
    fields.pop("csrfmiddlewaretoken")
    alices.undo(first, **fields)

    assert "back" in fields
    undone = AuditEvent.objects.get(event="response.taken_back")
    assert undone.detail["place"] == place


def test_the_history_marks_what_was_answered_without_opening_it(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    alices.answer(make_delivery(headline="Read whole"))
    assert "answered in the list" not in text_of(alices.get("/history/"))

    approve_in_list(alices, make_delivery(headline="From the list"))

    assert text_of(alices.get("/history/")).count("answered in the list") == 1


def test_the_list_loads_no_details_for_it(alices: Person, make_delivery: MakeDelivery) -> None:
    make_delivery()

    def statements() -> list[str]:
        alices.get("/")
        with CaptureQueriesContext(connection) as queries:
            alices.get("/")
        return [query["sql"] for query in queries]

    before = statements()
    for _ in range(5):
        make_delivery(**MORE["details"])
    after = statements()

    assert len(before) == len(after)
    (rows,) = {sql for sql in after if '"is_bare"' in sql}
    assert '"wake_delivery"."details_json",' not in rows
