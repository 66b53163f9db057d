"""A person takes an answer back while it is held."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.agents import gates
from accounts.audit import SYSTEM
from accounts.models import Agent, Team
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person, text_of
from tests.types import Age, Answer, MakeDelivery
from wake.models import Callback, Delivery, Draft, Response


def test_a_held_answer_can_be_undone_and_its_text_returns(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    alices.answer(delivery, "rejected", feedback="Too long by half.")

    undone = alices.undo(delivery)

    assert (undone.status_code, undone["Location"]) == (303, f"/deliveries/{delivery.pk}/")
    page = text_of(alices.see(delivery))
    assert "Your answer is kept here as a draft" in page
    assert "Too long by half." in page
    assert re.search(r"Undone by alice after \d+ s", page)
    assert not Response.objects.exists()


def test_an_undone_edit_is_restored_in_the_editor(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(details_json='{"title": "Old"}')
    alices.answer(delivery, "redirected", edited_content='{"title": "New"}', edited_as="json")
    alices.undo(delivery)

    page = alices.get(f"/deliveries/{delivery.pk}/edit").content.decode()

    assert 'value="New"' in page
    assert "Continue editing" in text_of(alices.see(delivery))


def test_an_answer_without_text_is_undone_on_its_page(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    alices.answer(delivery)

    undone = alices.undo(delivery, back="inbox")

    assert undone["Location"] == "/"
    assert "Market report" in text_of(alices.get("/"))


def test_another_persons_draft_stays_theirs(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    alices.answer(delivery, feedback="Only for me.")
    alices.undo(delivery)

    page = text_of(bobs.see(delivery))

    assert "Only for me." not in page
    assert Draft.objects.get().user == alices.user


def test_a_reviewer_cannot_take_back_what_another_person_answered(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    alices.answer(delivery)

    refused = bobs.undo(delivery)

    assert refused.status_code == 403
    assert "Undo" not in text_of(bobs.see(delivery))
    assert Response.objects.exists()


def test_an_owner_can_undo_it_and_the_author_gets_the_text(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    bobs.answer(delivery, feedback="From Bob.")

    assert "Undo" in text_of(alices.see(delivery))
    assert alices.undo(delivery).status_code == 303

    assert Draft.objects.get().user == bobs.user


def test_undoing_twice_changes_nothing(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery()
    alices.answer(delivery, feedback="Words.")

    answers = [alices.undo(delivery) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [303, 303]
    assert Draft.objects.get().feedback == "Words."


def test_a_late_undo_says_when_and_how_the_agent_got_the_answer(
    alices: Person, caller: AgentClient, age: Age
) -> None:
    delivery = Delivery.objects.get(pk=caller.deliver())
    alices.answer(delivery)
    age(delivery, seconds=11)
    caller.poll(str(delivery.pk))

    late = alices.undo(delivery)

    assert late.status_code == 409
    picked_up = Response.objects.get().picked_up_at
    assert picked_up
    assert "You can't undo this" in text_of(late)
    assert f"Fetched by the agent at {picked_up:%H:%M}." in text_of(late)
    assert "Undo" not in text_of(alices.see(delivery))


def test_a_late_undo_does_not_say_that_the_agent_has_an_answer_whose_callback_failed(
    alices: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery()
    response = answer(delivery)
    Response.objects.filter(pk=response.pk).update(sent_at=timezone.now())
    callback = _callback(response)
    callback.tries, callback.given_up_at = 10, timezone.now()
    callback.save()

    late = text_of(alices.undo(delivery))

    assert "You can't undo this" in late
    assert "The callback failed 10 times." in late
    assert "already has" not in late


@pytest.mark.parametrize(
    ("prepare", "words", "can_be_undone"),
    [
        ("held", "Goes to the agent in", True),
        ("released", "Waiting for the agent to fetch it.", True),
        ("sweep", "Fetched by the agent", False),
        ("receipt", "Receipt fetched at", False),
        ("claim", "Approval used at", False),
        ("sent", "Sent by callback", False),
    ],
)
def test_the_page_says_where_the_answer_is(
    alices: Person,
    caller: AgentClient,
    team: Team,
    agent: Agent,
    answer: Answer,
    age: Age,
    prepare: str,
    words: str,
    can_be_undone: bool,
) -> None:
    delivery = Delivery.objects.get(pk=caller.deliver())
    _, text = gates.issue(team, name="Refunds", agents=[agent], by=SYSTEM, at=timezone.now())
    of_gate = {"Authorization": f"Bearer {text}"}
    response = answer(delivery, held=prepare == "held")
    if prepare == "sweep":
        caller.sweep()
    if prepare == "receipt":
        caller.client.get(f"/wake/v1/receipt/{delivery.pk}", headers=of_gate)
    if prepare == "claim":
        caller.client.post(
            f"/wake/v1/claim/{delivery.pk}",
            json.dumps({"digest": delivery.content_hash}),
            content_type="application/json",
            headers=of_gate,
        )
    if prepare == "sent":
        Response.objects.filter(pk=response.pk).update(sent_at=timezone.now())

    page = text_of(alices.see(delivery))

    assert "Approved by alice at" in page
    assert words in page
    assert ("Undo" in page) == can_be_undone


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"due_at": 0}, "Callback to hooks.example.com: sending."),
        (
            {"due_at": -2},
            "Callback to hooks.example.com: not sent yet, because callbacks are delayed.",
        ),
        ({"due_at": -2, "leased_until": 1}, "Callback to hooks.example.com: sending."),
        ({"tries": 5}, "Callback to hooks.example.com: suspended until someone resumes it."),
        ({"delivered_at": 0}, "Callback to hooks.example.com: delivered at"),
        ({"tries": 2, "due_at": 10}, "attempt 2 failed; the next one is"),
        ({"tries": 10, "given_up_at": 0}, "The agent can still fetch this answer."),
    ],
)
def test_the_callback_has_one_line(
    alices: Person,
    make_delivery: MakeDelivery,
    answer: Answer,
    state: dict[str, int],
    words: str,
) -> None:
    delivery = make_delivery()
    callback = _callback(answer(delivery))
    for name, value in state.items():
        at = timezone.now() + timedelta(minutes=value)
        setattr(callback, name, value if name == "tries" else at)
    callback.save()

    page = alices.see(delivery)

    assert words in text_of(page)
    assert f'href="/callbacks/{callback.pk}/"' in page.content.decode()


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"tries": 1, "leased_until": 1, "due_at": 0}, "Sent by callback"),
        ({"tries": 1, "due_at": 10}, "The callback failed once. The next attempt is"),
        ({"tries": 4, "due_at": 10}, "The callback failed 4 times. The next attempt is"),
        (
            {"tries": 4, "leased_until": 1, "due_at": 0},
            "The callback failed 3 times. Trying again now.",
        ),
        ({"tries": 5}, "The callback is suspended. Nothing is lost: the agent can still fetch"),
        (
            {"tries": 10, "given_up_at": 0},
            "The callback failed 10 times. Nothing is lost: the agent can still",
        ),
    ],
)
def test_a_failing_callback_shows_its_attempts_and_the_next_one(
    alices: Person,
    make_delivery: MakeDelivery,
    answer: Answer,
    state: dict[str, int],
    words: str,
) -> None:
    delivery = make_delivery()
    response = answer(delivery)
    Response.objects.filter(pk=response.pk).update(sent_at=timezone.now())
    callback = _callback(response)
    for name, value in state.items():
        at = timezone.now() + timedelta(minutes=value)
        setattr(callback, name, value if name == "tries" else at)
    callback.save()

    assert words in text_of(alices.see(delivery))
    assert words in text_of(alices.get("/history/"))


def test_an_answer_that_no_agent_picks_up_is_reported_as_late(
    alices: Person, make_delivery: MakeDelivery, answer: Answer, allowed_host: str, age: Age
) -> None:
    delivery = make_delivery(callback_webhook=f"https://{allowed_host}/wake")
    answer(delivery, held=True)
    in_time = text_of(alices.see(delivery))
    age(delivery, minutes=2)

    late = text_of(alices.see(delivery))

    assert "callbacks are delayed" not in in_time
    assert "Callback: not sent yet, because callbacks are delayed." in late


def _callback(response: Response) -> Callback:
    return Callback.objects.create(
        response=response,
        agent=response.delivery.agent,
        team=response.delivery.team,
        url="https://hooks.example.com/wake",
        host="hooks.example.com",
        body=b"{}",
    )
