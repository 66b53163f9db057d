"""If several people have to approve a delivery, the pages say who has approved it."""

from __future__ import annotations

from typing import Any

import pytest

from inbox.notifications.channels.kinds.slack_app import can_answer_here
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery, MakeRule
from wake.models import Delivery, Response, Vote


@pytest.fixture
def delivery(make_rule: MakeRule, make_delivery: MakeDelivery, bobs: Person) -> Delivery:
    make_rule(role="owner", needed=2)
    return make_delivery(headline="Refund 40 euros")


def test_the_page_says_how_many_approved(delivery: Delivery, alices: Person, bobs: Person) -> None:
    alices.answer(delivery)

    own, other = alices.see(delivery), bobs.see(delivery)

    assert "1 of 2 approved: waiting for one more. Approved by alice." in text_of(own)
    assert b'name="status"' not in own.content
    assert "You're a reader here" not in text_of(own)
    assert "1 of 2 approved: waiting for one more." in text_of(other)
    assert b'name="status"' in other.content


def test_the_vote_is_undone_on_the_page(delivery: Delivery, alices: Person) -> None:
    alices.answer(delivery)

    alices.undo(delivery)

    assert not Vote.objects.exists()
    assert "0 of 2 approved: waiting for two more." in text_of(alices.see(delivery))


def test_the_list_asks_only_those_who_have_not_voted(
    delivery: Delivery, alices: Person, bobs: Person
) -> None:
    alices.answer(delivery)

    own, other = alices.get("/"), bobs.get("/")

    assert "you approved, waiting for others" in text_of(own)
    assert b"Approve: Refund" not in own.content
    assert "approved by alice, needs more approvals" in text_of(other)
    assert b"Open: Refund" in other.content


def approve_in_batch(person: Person, delivery: Delivery) -> Any:
    fields: dict[str, Any] = {"id": [str(delivery.pk)], "read": [str(delivery.pk)]}
    fields |= {f"answer-{delivery.pk}": "approved", f"hash-{delivery.pk}": delivery.content_hash}
    page = f"/batch/?id={delivery.pk}"
    return person.client.post("/batch/answer", fields, follow=True, page=page)


def again(person: Person, result: Any) -> str:
    """Returns the text of the batch's result as it is now."""
    return text_of(person.get(result.redirect_chain[0][0]))


def test_a_batch_says_that_it_waits(delivery: Delivery, alices: Person) -> None:
    page = approve_in_batch(alices, delivery)

    assert Vote.objects.get().user == alices.user
    assert "Waiting for others to agree" in text_of(page)
    assert "Not sent" not in text_of(page)


def test_a_batch_says_that_the_last_vote_has_sent_the_answer(
    delivery: Delivery, alices: Person, bobs: Person
) -> None:
    result = approve_in_batch(alices, delivery)
    bobs.answer(delivery)

    page = again(alices, result)

    assert "Answer sent" in page
    assert "Approved" in page
    assert "Not sent" not in page
    assert "already answered" not in page
    assert "Undo all" not in page, "the page of the delivery can undo the vote"


def test_a_batch_says_that_its_vote_was_undone(delivery: Delivery, alices: Person) -> None:
    result = approve_in_batch(alices, delivery)
    alices.undo(delivery)

    page = again(alices, result)

    assert "Undone It is back in the inbox." in page
    assert "Waiting for others" not in page


def test_a_batch_waits_again_if_another_vote_is_undone(
    delivery: Delivery, alices: Person, bobs: Person
) -> None:
    bobs.answer(delivery)
    result = approve_in_batch(alices, delivery)
    assert "Answer sent" in text_of(result)
    bobs.undo(delivery)

    page = again(alices, result)

    assert "Waiting for others to agree" in page
    assert "Undone" not in page


def test_a_batch_says_that_a_colleague_decided_otherwise(
    delivery: Delivery, alices: Person, bobs: Person
) -> None:
    result = approve_in_batch(alices, delivery)
    bobs.answer(delivery, "rejected")

    page = again(alices, result)

    assert "already answered: Rejected by bob" in page
    assert "Waiting for others" not in page


def test_the_second_vote_answers(delivery: Delivery, alices: Person, bobs: Person) -> None:
    alices.answer(delivery)

    bobs.answer(delivery)

    assert Response.objects.get().by == bobs.user
    assert "of 2 approved" not in text_of(bobs.see(delivery))


def test_each_of_them_can_undo_the_answer(delivery: Delivery, alices: Person, bobs: Person) -> None:
    bobs.answer(delivery, feedback="Fine.")
    alices.answer(delivery)

    page = bobs.see(delivery)

    assert "Approved by: bob, alice." in text_of(page)
    assert f"/deliveries/{delivery.pk}/undo".encode() in page.content
    bobs.undo(delivery)
    assert [vote.user for vote in Vote.objects.all()] == [alices.user]
    assert not Response.objects.exists()


def test_the_pages_ask_for_votes_that_the_agent_wants(
    make_delivery: MakeDelivery, alices: Person, bobs: Person
) -> None:
    """The team itself has no rules for votes."""
    delivery = make_delivery(headline="Refund 40 euros", quorum=2)

    assert "waiting for two more. The agent asked for several approvals." in text_of(
        alices.see(delivery)
    )
    alices.answer(delivery)

    assert "you approved, waiting for others" in text_of(alices.get("/"))
    assert "1 of 2 approved" in text_of(bobs.see(delivery))
    bobs.answer(delivery)
    assert Response.objects.get().by == bobs.user


def test_the_page_says_that_the_agent_asks_only_if_no_rule_does(
    delivery: Delivery, alices: Person
) -> None:
    assert "The agent asked" not in text_of(alices.see(delivery))


def test_slack_offers_no_button_for_it(delivery: Delivery) -> None:
    assert not can_answer_here(delivery)


def test_the_rule_says_how_many_must_agree(
    make_rule: MakeRule, alices: Person, bobs: Person
) -> None:
    make_rule("A", people=[bobs.user], needed=2)
    make_rule("B", role="owner", only_they=True, needed=3)

    page = text_of(alices.get("/settings/rules/"))

    assert "go to bob. Two people must agree." in page
    assert "Only they can answer. Three of them must agree." in page
