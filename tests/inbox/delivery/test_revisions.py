"""A delivery shows its thread and the changes since the version that it replaces."""

from __future__ import annotations

import json
import re
from typing import Any

from django.utils import timezone

from accounts.models import Agent, Team, User
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from wake.deliveries import deliver
from wake.models import Delivery


def test_a_single_delivery_shows_no_thread(alices: Person, make_delivery: MakeDelivery) -> None:
    page = text_of(alices.see(make_delivery()))

    assert "thread" not in page
    assert "since the last version" not in page
    assert "Replaced" not in page


def test_earlier_ones_of_the_thread_are_listed_newest_first(
    alices: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    names = ["First", "Second", "Third"]
    rows = [make_delivery(headline=name, thread="market") for name in names]
    make_delivery(headline="Of another thread", thread="other")
    answer(rows[0], "rejected")

    page = text_of(alices.see(rows[2]))

    earlier = page.partition("Earlier in this thread")[2]
    assert earlier.index("Second") < earlier.index("First")
    assert "Rejected" in earlier
    assert "Of another thread" not in page


def test_a_long_thread_shows_its_newest(alices: Person, make_delivery: MakeDelivery) -> None:
    rows = [make_delivery(headline=f"Number {number}.", thread="my t") for number in range(15)]

    page = alices.see(rows[-1])

    assert "Number 4." in text_of(page)
    assert "Number 3." not in text_of(page)
    link = re.search(r'href="([^"]*)">Show\s+the whole thread<', page.content.decode())
    assert link
    assert '15 results for thread:"my t"' in text_of(alices.get(link[1]))


def test_threads_of_two_agents_are_separate(
    alices: Person, make_delivery: MakeDelivery, agent: Agent
) -> None:
    other = Agent.objects.create(team=agent.team, agent_id="writing-agent-02")
    given: Any = {"provider": "p", "type": "update", "headline": "Theirs", "summary": "s"}
    deliver(other, agent_id=other.agent_id, thread="market", at=timezone.now(), **given)

    assert "Theirs" not in text_of(alices.see(make_delivery(thread="market")))


def test_a_chain_of_revisions_leads_forwards_and_back(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    first = make_delivery(headline="Plan one")
    second = make_delivery(headline="Plan two", supersedes=first.pk)
    third = make_delivery(headline="Plan three", supersedes=second.pk)

    oldest, middle, newest = (text_of(alices.see(row)) for row in (first, second, third))

    assert "Replaced by Plan two." in oldest
    assert "Replaced by Plan three." in middle
    assert "Replaced" not in newest
    earlier = newest.partition("Earlier in this thread")[2]
    assert earlier.index("Plan two") < earlier.index("Plan one")


def test_a_revision_shows_what_changed_since_the_last_one(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    first = make_delivery(headline="Plan one", details_json='"Turn it off.\\nWait an hour."')
    second = make_delivery(supersedes=first.pk, details_json='"Turn it off.\\nWait a day."')

    text = alices.see(second).content.decode()

    assert "Replaces" in text
    assert "<del>an hour</del>" in text
    assert "<ins>a day</ins>" in text


def redirected(
    make_delivery: MakeDelivery, answer: Answer, came_back: Any, **words: Any
) -> tuple[Delivery, Delivery]:
    first = make_delivery(details_json='{"title": "Old", "news": true}')
    answer(first, "redirected", edited_json='{"title": "New", "news": false}', **words)
    return first, make_delivery(supersedes=first.pk, details_json=json.dumps(came_back))


def test_a_revision_is_shown_beside_the_persons_edit(
    alices: Person, bobs: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    _, second = redirected(
        make_delivery, answer, {"title": "New", "news": True}, feedback="No <b>newsletter</b>."
    )

    own, theirs = alices.see(second), bobs.see(second)

    text = own.content.decode()
    edit, _, came_back = text.partition("New version")
    assert "Differences from your edit" in edit
    assert "Your edit" in edit
    assert "<ins>New</ins>" in edit
    assert "<ins>no</ins>" in edit
    assert "<ins>New</ins>" in came_back.partition("written by the agent")[0]
    assert "No &lt;b&gt;newsletter&lt;/b&gt;." in text
    assert "alice&#x27;s edit" in theirs.content.decode()


def test_a_revision_equal_to_the_edit_is_described_in_a_sentence(
    alices: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    _, second = redirected(make_delivery, answer, {"title": "New", "news": False})

    assert "The agent returned it exactly as edited." in text_of(alices.see(second))


def of_field(value: str) -> str:
    field = {"type": "field", "name": "subject", "value": value}
    return json.dumps({"wake_blocks": 1, "blocks": [field]})


def test_fields_that_came_back_are_compared_with_the_fields_of_the_edit(
    alices: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    first = make_delivery(details_json=of_field("Old"))
    answer(first, "redirected", edited_json='{"subject": "New"}')
    followed = make_delivery(supersedes=first.pk, details_json=of_field("New"))
    without = make_delivery(supersedes=first.pk, details_json='{"subject": "New"}')

    assert "The agent returned it exactly as edited." in text_of(alices.see(followed))
    page = text_of(alices.see(without))
    assert "exactly as edited" not in page
    assert "Differences from" not in page


def test_long_revisions_are_compared_on_request(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    first = make_delivery(details_json=json.dumps("line\n" * 5_000))
    second = make_delivery(details_json=json.dumps("line\n" * 5_001), supersedes=first.pk)

    unasked, asked = alices.see(second), alices.see(second, compare="yes")

    assert "Compare them" in text_of(unasked)
    assert 'class="diff"' not in unasked.content.decode()
    assert 'class="diff"' in asked.content.decode()


def test_versions_of_another_team_are_not_shown(
    bobs: Person, make_delivery: MakeDelivery, second_team: Team
) -> None:
    first = make_delivery(headline="Secret of the others", thread="t", details_json='"old"')
    second = make_delivery(supersedes=first.pk, details_json='"new"')
    Delivery.objects.filter(pk=first.pk).update(team=second_team)

    page = text_of(bobs.see(second))

    assert "Secret" not in page
    assert "since the last version" not in page


def test_hostile_revisions_are_escaped(
    alices: Person, make_delivery: MakeDelivery, answer: Answer, alice: User
) -> None:
    nasty = "<script>alert(1)</script>\u202e"
    first = make_delivery(headline=nasty, details_json=json.dumps(nasty), thread=nasty[:25])
    answer(first, "redirected", feedback=nasty, edited_json=json.dumps({nasty: nasty}))
    second = make_delivery(supersedes=first.pk, details_json=json.dumps({nasty: [nasty]}))

    for delivery in (first, second):
        text = alices.see(delivery).content.decode()
        assert "<script>alert" not in text
        assert "\u202e" not in text
