"""The delivery page shows what its reader may see, in a limited number of queries."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.agents.keys import revoke
from accounts.audit import SYSTEM, person, record
from accounts.models import Agent, ApiKey, ClaimedId, Team, User
from inbox.delivery.timeline import MAX_EVENTS
from inbox.models import Reading
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from wake.models import Callback


def test_a_delivery_is_shown_with_its_agent_and_its_texts(
    alices: Person, make_delivery: MakeDelivery, agent: Agent
) -> None:
    delivery = make_delivery(details_json='"Read **this** first."')

    answer = alices.see(delivery)

    page = text_of(answer)
    assert answer.status_code == 200
    assert f"Output {agent.agent_id} (claude)" in page
    assert "Market report ready for your review" in page
    assert "Details written by the agent" in page
    assert "<strong>this</strong>" in answer.content.decode()
    assert "Read **this** first." in page


@pytest.mark.parametrize("method", ["get", "head"])
def test_a_delivery_can_be_opened_while_nothing_can_be_written(
    alices: Person, make_delivery: MakeDelivery, method: str
) -> None:
    """A full disk used to stop people from reading deliveries that were already stored, because the
    page writes: it marks the delivery as read, and once an hour the session records the visit."""
    delivery = make_delivery()
    session = alices.client.session
    session["seen_at"] -= 2 * 3600
    session.save()

    def refuse_writes(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE", "DELETE")):
            raise OperationalError("database or disk is full")
        return execute(sql, *rest)

    with connection.execute_wrapper(refuse_writes):
        page = getattr(alices.client, method)(f"/deliveries/{delivery.pk}/")

    assert page.status_code == 200
    assert page.context["delivery"] == delivery
    assert not Reading.objects.exists()
    assert alices.see(delivery).status_code == 200
    assert Reading.objects.get().user == alices.user


def test_a_head_request_does_not_mark_a_delivery_as_read(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()

    head = alices.client.head(f"/deliveries/{delivery.pk}/")

    assert head.status_code == 200
    assert not Reading.objects.exists()


def test_a_long_timeline_shows_the_newest_events(
    alices: Person, make_delivery: MakeDelivery, team: Team
) -> None:
    """PostgreSQL's planner used to decide which rows were left out."""
    delivery = make_delivery()
    start = delivery.created_at
    for minutes in range(1, 205):
        at = start + timedelta(minutes=minutes)
        record("delivery.acknowledged", by=person(alices.user), of=delivery, team=team, at=at)
    Reading.objects.create(
        user=alices.user, delivery=delivery, opened_at=start + timedelta(hours=5)
    )

    events = alices.see(delivery).context["events"]

    assert len(events) == MAX_EVENTS
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert events[0].at == start + timedelta(minutes=6)
    assert events[-1].at == start + timedelta(hours=5)


def test_the_form_sends_the_hash_of_the_shown_content(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()

    page = alices.see(delivery).content.decode()

    assert f'name="content_hash" value="{delivery.content_hash}"' in page
    assert f'action="/deliveries/{delivery.pk}/response"' in page


def test_a_question_is_answered_with_yes_no_or_text(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    page = text_of(alices.see(make_delivery(type="question")))

    assert "No, don't Send answer Yes, go ahead" in page
    assert "More Edit and send back" in page


def test_a_reader_sees_everything_but_the_form(ritas: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(details_json='"the details"')

    page = ritas.see(delivery).content.decode()

    assert "the details" in page
    assert "You're a reader here, so you can't answer." in page
    assert "/response" not in page


def test_the_claimed_id_is_shown_only_where_it_differs(
    alices: Person, make_delivery: MakeDelivery, agent: Agent
) -> None:
    ClaimedId.objects.create(agent=agent, pattern="crew-*")

    usual = text_of(alices.see(make_delivery()))
    claimed = text_of(alices.see(make_delivery(agent_id="crew-7")))

    assert f"{agent.agent_id} as" not in usual
    assert f"{agent.agent_id} as crew-7" in claimed


def test_the_page_shows_how_the_delivery_arrived(
    alices: Person,
    bobs: Person,
    make_delivery: MakeDelivery,
    key: ApiKey,
    answer: Answer,
) -> None:
    delivery = make_delivery(key=key)
    bobs.see(delivery)
    answer(delivery, "rejected")

    page = text_of(alices.see(delivery))

    activity = page.partition("Activity")[2]
    at = re.findall(r"(Received from \S+ with key \S+|bob opened it|alice rejected)", activity)
    assert at == [
        f"Received from {key.agent.agent_id} with key {key.hint}",
        "bob opened it",
        "alice rejected",
    ]
    assert f"Verified by key {key.hint}" in activity
    assert str(delivery.pk) in activity


def test_a_key_that_was_revoked_is_named(
    alices: Person, make_delivery: MakeDelivery, key: ApiKey
) -> None:
    delivery = make_delivery(key=key)
    revoke(key, by=SYSTEM, at=timezone.now())

    assert "The key that sent this has since been revoked" in text_of(alices.see(delivery))


def test_an_answered_delivery_waits_for_nothing(
    bobs: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery(timeout_seconds=6000, on_timeout="hold")
    before = text_of(bobs.see(delivery))

    answer(delivery)

    after = text_of(bobs.see(delivery))
    assert "waiting for you; due" in before
    assert "waiting for you" not in after
    assert "in 1 h" not in after


def test_an_answer_shows_its_text_and_the_changes_of_its_edit(
    bobs: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery(details_json='{"title": "Old", "same": 1}')
    answer(
        delivery, "redirected", feedback="See \u202ethis", edited_json='{"title":"New","same":1}'
    )

    response_page = bobs.see(delivery)

    page = response_page.content.decode()
    assert "See ⟨U+202E⟩this" in page
    assert "<del>Old</del>" in page
    assert "<ins>New</ins>" in page
    assert "/response" not in page


def test_the_page_takes_at_most_eight_queries(
    alices: Person,
    make_delivery: MakeDelivery,
    key: ApiKey,
    second_team: Team,
    answer: Answer,
) -> None:
    first = make_delivery(key=key, details_json='{"a": 1}', thread="t", callback_webhook="")
    response = answer(first, "redirected", edited_json='{"a": 2}')
    second = make_delivery(key=key, details_json='{"a": 3}', supersedes=first.pk)
    third = make_delivery(key=key, details_json='{"a": 4}', supersedes=second.pk)
    alices.answer(third, "redirected", feedback="Not yet.")
    alices.undo(third)
    for number in range(5):
        make_delivery(key=key, thread="t", headline=f"Another {number}")
    Callback.objects.create(
        response=response,
        agent=first.agent,
        team=first.team,
        url="https://hooks.example.com/",
        host="hooks.example.com",
        body=b"{}",
        tries=3,
    )

    for delivery in (first, second, third):
        with CaptureQueriesContext(connection) as queries:
            assert alices.see(delivery).status_code == 200

        # Only in a test does a transaction become a savepoint.
        asked = [each["sql"] for each in queries if "SAVEPOINT" not in each["sql"]]
        assert len(asked) <= 8, asked


def test_the_pages_policy_allows_nothing_inline(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    answer = alices.see(make_delivery(details_json='{"a": {"b": [1]}}'))

    page = answer.content.decode()
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    assert " style=" not in page
    assert "<style" not in page
    assert " on" not in "".join(part for part in page.split("<") if part.startswith("button"))


def test_it_can_be_marked_as_unread(
    alices: Person, make_delivery: MakeDelivery, alice: User
) -> None:
    delivery = make_delivery()
    page = alices.see(delivery)
    assert "Mark as unread" in text_of(page)

    alices.post(delivery, "reading")

    reading = Reading.objects.get(delivery=delivery, user=alice)
    assert reading.marked_unread_at is not None


def test_the_page_shows_that_another_person_is_answering(
    alices: Person, bobs: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery()
    answer(delivery, "approved", held=True)

    theirs, own = text_of(bobs.see(delivery)), text_of(alices.see(delivery))

    assert "Answering now: alice." in theirs
    assert "Answering now" not in own


def test_the_page_after_an_answer_tells_the_device_that_it_is_stored(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    assert f'data-draft="{delivery.pk}"' in alices.see(delivery).content.decode()

    alices.answer(delivery)

    assert f'data-delivery="{delivery.pk}"' in alices.see(delivery).content.decode()
    assert "data-delivery" not in bobs.see(delivery).content.decode()


def test_every_key_of_the_page_has_its_control(alices: Person, make_delivery: MakeDelivery) -> None:
    first, delivery, last = (make_delivery(headline=f"Number {number}") for number in range(3))

    page = alices.see(delivery).content.decode()

    for key in "arejkl":
        assert page.count(f'aria-keyshortcuts="{key}"') == 1
    assert f'href="/deliveries/{last.pk}/" rel="prev" aria-keyshortcuts="k"' in page
    assert f'href="/deliveries/{first.pk}/" rel="next" aria-keyshortcuts="j"' in page


@pytest.mark.parametrize(
    ("type", "offered"), [("update", True), ("alert", True), ("output", False)]
)
def test_acknowledging_is_offered_where_no_answer_is_needed(
    alices: Person, ritas: Person, make_delivery: MakeDelivery, type: str, offered: bool
) -> None:
    delivery = make_delivery(type=type)

    assert ("Got it" in text_of(alices.see(delivery))) == offered
    assert "Got it" not in text_of(ritas.see(delivery))


def test_an_acknowledged_delivery_says_so_and_can_be_brought_back(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(type="update")
    bobs.client.post("/acknowledgements", {"deliveries": str(delivery.pk)})

    page = text_of(alices.see(delivery))
    assert "Acknowledged by bob" in page
    assert "No answer was sent." in page

    alices.client.post("/acknowledgements/undo", {"deliveries": str(delivery.pk)})
    assert "Acknowledged by" not in text_of(alices.see(delivery)).partition("Activity")[0]
