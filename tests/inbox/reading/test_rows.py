"""A row of the inbox shows people, keys and deadlines, and offers the right actions."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from django.utils import timezone

from accounts.agents.keys import mint
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, User
from tests.inbox.many import many_like
from tests.inbox.person import Person, text_of
from tests.types import Age, Answer, MakeDelivery
from wake.models import Delivery
from wake.undo import take_back


def buttons(person: Person, delivery: Delivery) -> list[str]:
    """Returns the accessible names of the actions on the row."""
    parser = _Names(f"row-{delivery.pk}")
    parser.feed(person.get("/").content.decode())
    return parser.names


class _Names(HTMLParser):
    """Collects the labels of the row's controls, without the headline that follows a colon."""

    def __init__(self, row: str) -> None:
        super().__init__()
        self.row = row
        self.is_inside = False
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "li":
            self.is_inside = given.get("id") == self.row
        if self.is_inside and (label := given.get("aria-label")):
            self.names.append(label.partition(":")[0])

    def handle_endtag(self, tag: str) -> None:
        if tag == "li":
            self.is_inside = False


@pytest.mark.parametrize(
    ("type", "passed", "offered"),
    [
        ("question", False, ["Answer"]),
        ("question", True, ["Answer", "Got it"]),
        ("output", False, ["Approve"]),
        ("output", True, ["Approve", "Got it"]),
        ("alert", False, ["Got it"]),
        ("update", False, ["Got it"]),
    ],
)
def test_each_type_of_row_has_its_actions(
    alices: Person,
    make_delivery: MakeDelivery,
    age: Age,
    type: str,
    passed: bool,
    offered: list[str],
) -> None:
    delivery = make_delivery(type=type, timeout_seconds=60 if passed else None)
    if passed:
        age(delivery, minutes=5)

    assert buttons(alices, delivery) == ["Select", *offered]


@pytest.mark.parametrize("type", ["question", "output", "alert", "update"])
def test_a_reader_opens_and_selects(ritas: Person, make_delivery: MakeDelivery, type: str) -> None:
    assert buttons(ritas, make_delivery(type=type)) == ["Select", "Open"]


def test_a_row_that_a_colleague_is_answering_has_no_actions(
    alices: Person, bob: User, bobs: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery(headline="Both want this")
    answer(delivery, by=bob, held=True)

    page = text_of(alices.get("/"))

    assert "Both want this" in page
    assert "Answering now: bob" in page
    assert buttons(alices, delivery) == []
    assert "delivery waits" not in page
    assert "Answering now" not in text_of(bobs.get("/"))


def test_the_row_leaves_after_the_hold_or_returns_after_an_undo(
    alices: Person, bob: User, make_delivery: MakeDelivery, answer: Answer
) -> None:
    sent, undone = make_delivery(headline="Sent"), make_delivery(headline="Undone")
    answer(sent, by=bob)
    answer(undone, by=bob, held=True)
    take_back(undone, by=bob, at=timezone.now())

    page = text_of(alices.get("/"))

    assert "Answering now" not in page
    assert "Sent" not in page
    assert "Undone" in page


def test_a_filter_applies_to_rows_that_a_colleague_is_answering(
    alices: Person, bob: User, make_delivery: MakeDelivery, answer: Answer
) -> None:
    answer(make_delivery(type="question"), by=bob, held=True)

    assert "Answering now" in text_of(alices.get("/", type="question"))
    assert "Answering now" not in text_of(alices.get("/", type="output"))


def test_a_held_answer_of_another_team_is_not_shown(
    alices: Person, elsewhere: Delivery, mallory: User, answer: Answer
) -> None:
    answer(elsewhere, by=mallory, held=True)

    page = text_of(alices.get("/"))

    assert "Answering now" not in page
    assert "secret plan" not in page


def test_a_revoked_key_is_shown_on_the_rows_that_it_sent(
    alices: Person, agent: Agent, make_delivery: MakeDelivery
) -> None:
    revoked, _ = mint(agent, by=SYSTEM)
    usable, _ = mint(agent, by=SYSTEM)
    make_delivery(headline="First", key=usable)
    make_delivery(headline="Second", key=revoked)
    ApiKey.objects.filter(pk=revoked.pk).update(revoked_at=timezone.now())

    page = text_of(alices.get("/"))

    assert page.count("key revoked") == 1
    assert page.index("Second") < page.index("key revoked") < page.index("First")


def test_the_head_counts_deadlines_within_the_hour_and_before_tomorrow(
    alices: Person, ritas: Person, make_delivery: MakeDelivery, settings: Any
) -> None:
    for timeout, what in ((1800, "proceed"), (1800, ""), (1800, "abort"), (1800, "hold")):
        make_delivery(type="question", timeout_seconds=timeout, on_timeout=what)
    make_delivery(timeout_seconds=7200)
    make_delivery(type="update", timeout_seconds=1800)

    page = text_of(alices.get("/", type="alert"))

    assert "2 deadlines within the hour: agents go ahead without you" in page
    assert "1 deadline within the hour: the agent stops" in page
    assert "5 deadlines before" in page
    assert "in the whole inbox" in page
    assert "in the whole inbox" not in text_of(alices.get("/"))
    assert "within the hour" not in text_of(ritas.get("/")).replace("Within the hour", "")


def test_a_row_says_how_much_time_is_left_in_the_last_hour(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    make_delivery(headline="Soon", timeout_seconds=1500)
    make_delivery(headline="Later", timeout_seconds=7200)

    page = text_of(alices.get("/"))

    assert page.count("(in ") == 1
    assert "(in 25 min)" in page


def test_very_many_deliveries_lead_to_the_agent_that_sends_them(
    alices: Person, agent: Agent, make_delivery: MakeDelivery
) -> None:
    first = make_delivery(type="update")
    many_like(first, 501)

    page = alices.get("/")

    assert "Updates 500+" in text_of(page)
    assert "Most of these are from research-agent-01." in text_of(page)
    assert f'href="/agents/{agent.pk}/">Open agent' in page.content.decode()
    assert "Got it (all 50)" in text_of(page)


def test_an_irreversible_action_is_marked(alices: Person, make_delivery: MakeDelivery) -> None:
    make_delivery()
    assert "irreversible" not in text_of(alices.get("/"))

    delivery = make_delivery(headline="Wire 9,000 euros", irreversible=True)

    assert text_of(alices.get("/")).count("irreversible action") == 1
    alices.answer(delivery)
    page = text_of(alices.get(f"/deliveries/{delivery.pk}/"))
    assert "irreversible action" in page
    assert "Undo" in page
    assert "can't be undone" not in page


def test_a_priority_sorts_inside_its_section_only(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    make_delivery(headline="High output", priority="high")
    make_delivery(headline="Low output", priority="low")
    make_delivery(headline="Normal output")
    make_delivery(headline="Low question", type="question", priority="low")

    page = text_of(alices.get("/"))

    places = [page.index(f"{name} ") for name in ("Low question", "High output", "Normal output")]
    assert places == sorted(places)
    assert page.index("Normal output") < page.index("Low output")
    assert page.count("high priority") == 1
    assert page.count("low priority") == 2
    assert "normal priority" not in page
