"""The page of a delivery says to whom the delivery is assigned, and lets people take the
delivery."""

from __future__ import annotations

from http import HTTPStatus

from accounts.access import members
from accounts.audit import SYSTEM
from accounts.models import Membership
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery, MakeRule
from wake.models import AssignedPerson, Response


def test_a_team_without_rules_sees_nothing_of_it(make_delivery: MakeDelivery, bobs: Person) -> None:
    page = text_of(bobs.see(make_delivery()))

    assert "assigned" not in page.lower()
    assert "Take it" not in page


def test_the_page_names_the_people_and_the_rule(
    make_rule: MakeRule, make_delivery: MakeDelivery, alices: Person, bobs: Person, ritas: Person
) -> None:
    make_rule("Refunds", people=[alices.user, bobs.user])
    delivery = make_delivery()

    assert "Yours. Assigned to alice and bob by the rule “ Refunds ”." in text_of(
        bobs.see(delivery)
    ).replace("“Refunds”", "“ Refunds ”")
    assert "Take it" not in text_of(bobs.see(delivery))
    reader = text_of(ritas.see(delivery))
    assert "Assigned to alice and bob" in reader
    assert "Take it" not in reader


def test_the_page_says_that_the_rule_makes_the_agent_wait(
    make_rule: MakeRule, make_delivery: MakeDelivery, alices: Person
) -> None:
    make_rule("Refunds", people=[alices.user], must_wait=True)

    plan = {"assumption": "I refund it.", "on_timeout": "proceed"}
    waits = text_of(alices.see(make_delivery(timeout_seconds=600, **plan)))
    stops = text_of(alices.see(make_delivery(timeout_seconds=600, on_timeout="abort")))

    assert "The rule makes the agent wait if no one answers." in waits
    assert (
        "the agent keeps waiting. A team rule makes the agent wait. The agent's own plan was: I re"
        in waits
    )
    assert "makes the agent wait" not in stops


def test_the_page_says_how_long_an_approval_can_be_used(
    make_rule: MakeRule, make_delivery: MakeDelivery, alices: Person
) -> None:
    make_rule("Refunds", people=[alices.user], claim_within_seconds=600)

    page = text_of(alices.see(make_delivery(claim_within_seconds=900)))

    assert "The agent has to use an approval within 10 min." in page


def test_the_answer_of_another_person_is_refused_in_a_sentence(
    make_rule: MakeRule, make_delivery: MakeDelivery, alices: Person, bobs: Person
) -> None:
    make_rule("Alice's", people=[alices.user], only_they=True)
    delivery = make_delivery()

    page, refused = bobs.see(delivery), bobs.answer(delivery, feedback="Pay half of it.")

    assert "Only they can answer." in text_of(page)
    assert b'name="status"' not in page.content
    assert "Take it" not in text_of(page)
    assert refused.status_code == HTTPStatus.FORBIDDEN
    assert "Your answer wasn't sent" in text_of(refused)
    assert "Only alice can answer this." in text_of(refused)
    assert "Your message Pay half of it." in text_of(refused)
    assert not Response.objects.exists()


def test_an_owner_takes_it_on_the_page(
    make_rule: MakeRule, make_delivery: MakeDelivery, alices: Person, bobs: Person
) -> None:
    make_rule("Bo's", people=[bobs.user], only_they=True)
    delivery = make_delivery()
    assert "Take it" in text_of(alices.see(delivery))

    taken = alices.post(delivery, "assignment", back="type=output")

    assert taken.status_code == HTTPStatus.SEE_OTHER
    assert taken["Location"] == f"/deliveries/{delivery.pk}/?back=type%3Doutput"
    page = alices.see(delivery)
    assert "Yours. Assigned to alice and bob" in text_of(page)
    assert "alice took it" in text_of(page)
    assert b'name="status"' in page.content
    alices.answer(delivery)
    assert Response.objects.get().by == alices.user


def test_a_reader_takes_nothing(
    make_rule: MakeRule, make_delivery: MakeDelivery, bobs: Person, ritas: Person
) -> None:
    make_rule("Bo's", people=[bobs.user], types=["alert"])

    refused = ritas.post(make_delivery(), "assignment")

    assert refused.status_code == HTTPStatus.FORBIDDEN
    assert not AssignedPerson.objects.exists()


def test_the_page_says_that_the_assigned_people_left(
    make_rule: MakeRule, make_delivery: MakeDelivery, alices: Person, bobs: Person
) -> None:
    make_rule("Bo's", people=[bobs.user], only_they=True)
    before = make_delivery()
    members.remove(Membership.objects.get(user=bobs.user), by=SYSTEM)
    after = make_delivery()

    assert "None of them can answer any more. Any owner or reviewer can." in text_of(
        alices.see(before)
    )
    assert "applies, but no one it names can answer" in text_of(alices.see(after))
    for delivery in (before, after):
        assert alices.answer(delivery).status_code == HTTPStatus.SEE_OTHER


def test_a_batch_says_what_others_must_answer(
    make_rule: MakeRule, make_delivery: MakeDelivery, alices: Person, bobs: Person
) -> None:
    make_rule("Alice's", people=[alices.user], only_they=True, thread_prefix="a")
    theirs, ours = make_delivery(thread="a"), make_delivery()
    form = {"id": [str(theirs.pk), str(ours.pk)], "read": [str(theirs.pk), str(ours.pk)]}
    for delivery in (theirs, ours):
        form[f"answer-{delivery.pk}"] = ["approved"]
        form[f"hash-{delivery.pk}"] = [delivery.content_hash]

    bobs.get("/batch/", id=form["id"])
    sent = bobs.client.post("/batch/answer", form, follow=True)

    assert "Only the people this is assigned to can answer it." in text_of(sent)
    assert [response.delivery for response in Response.objects.all()] == [ours]
