"""A person's own deliveries stand above the team's, and everyone sees everything."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.access.viewer import Viewer
from accounts.models import Team, User
from database.batched_queries import PAGE
from inbox.delivery.neighbours import neighbours
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery, MakeRule

NEVER = {"pointer": "/v", "operator": "is", "value": "never"}


def headlines(page: Any) -> list[str]:
    return [
        row.delivery.headline for section in page.context["inbox"].sections for row in section.rows
    ]


def queries(load: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as captured:
        load()
    return len(captured)


def test_yours_stand_above_the_teams_with_their_counts(
    make_rule: MakeRule, make_delivery: MakeDelivery, alices: Person, bobs: Person
) -> None:
    make_rule("Bo's", people=[bobs.user], thread_prefix="bo")
    make_delivery(headline="Bo's old one", thread="bo")
    make_delivery(headline="Urgent one of the team", priority="high")
    make_delivery(headline="One of the team")

    own, others = bobs.get("/"), alices.get("/")

    assert headlines(own) == ["Bo's old one", "Urgent one of the team", "One of the team"]
    assert "Yours 1" in text_of(own)
    assert "The team's 2" in text_of(own)
    assert headlines(others) == ["Urgent one of the team", "One of the team", "Bo's old one"]
    assert "Yours" not in text_of(others)
    assert "for bob" in text_of(others)


def test_yours_come_to_the_first_page_and_are_counted_in_full(
    make_rule: MakeRule, make_delivery: MakeDelivery, bobs: Person
) -> None:
    make_rule("Bo's", people=[bobs.user], thread_prefix="bo")
    at = timezone.now() - timedelta(hours=2)
    for number in range(3):
        make_delivery(headline=f"Bo's {number}", thread="bo", at=at)
    for number in range(PAGE + 5):
        make_delivery(headline=f"Team's {number}", at=at + timedelta(minutes=1, seconds=number))

    page = bobs.get("/")

    [section] = [each for each in page.context["inbox"].sections if each.rows]
    assert headlines(page)[:3] == ["Bo's 2", "Bo's 1", "Bo's 0"]
    assert (section.total, section.own_total) == (PAGE + 8, 3)
    assert len(section.rows) == PAGE + 3
    older = headlines(bobs.get("/", type="output", before=str(section.older)))
    assert set(older) == {*(f"Bo's {n}" for n in range(3)), *(f"Team's {n}" for n in range(5))}


def test_only_those_who_may_answer_see_the_button(
    make_rule: MakeRule, make_delivery: MakeDelivery, alices: Person, bobs: Person
) -> None:
    make_rule("Bo's", people=[bobs.user], only_they=True)
    make_delivery()

    assert b"Approve:" in bobs.get("/").content
    assert b"Approve:" not in alices.get("/").content
    assert "for bob only" in text_of(alices.get("/"))


@pytest.mark.parametrize("who", ["me", "bo", "bob"])
def test_a_filter_finds_what_is_assigned(
    make_rule: MakeRule, make_delivery: MakeDelivery, answer: Answer, bobs: Person, who: str
) -> None:
    make_rule("Bo's", people=[bobs.user], thread_prefix="bo")
    make_delivery(headline="Bo's", thread="bo")
    make_delivery(headline="The team's")
    answer(make_delivery(headline="Bo's, answered", thread="bo"))

    assert headlines(bobs.get("/", q=f"assigned:{who}")) == ["Bo's"]
    history = text_of(bobs.get("/history/", q=f"assigned:{who}"))
    assert "Bo's, answered" in history
    assert "The team's" not in history


def test_an_unknown_name_finds_nothing(
    make_rule: MakeRule, make_delivery: MakeDelivery, bobs: Person
) -> None:
    make_rule("Bo's", people=[bobs.user])
    make_delivery()

    assert headlines(bobs.get("/", q="assigned:zoe")) == []


def test_a_team_with_rules_pays_two_queries_and_others_none(
    make_rule: MakeRule, make_delivery: MakeDelivery, alices: Person
) -> None:
    make_delivery()
    alices.get("/")
    without = queries(lambda: alices.get("/"))

    with CaptureQueriesContext(connection) as captured:
        alices.get("/")
    assert not [query for query in captured if "wake_assign" in query["sql"]]
    make_rule("Alice's", people=[alices.user])
    for _ in range(10):
        make_delivery()

    assert queries(lambda: alices.get("/")) == without + 2


def test_the_next_delivery_is_the_next_of_the_list(
    make_rule: MakeRule, make_delivery: MakeDelivery, alice: User
) -> None:
    make_rule("Alice's", people=[alice], thread_prefix="a")
    old = make_delivery(headline="Alice's", thread="a")
    newer, newest = make_delivery(headline="newer"), make_delivery(headline="newest")

    def around(delivery: Any, *, is_mine: bool = False) -> tuple[str, str]:
        viewer = Viewer.of(alice)
        found = neighbours(delivery, viewer, is_mine=is_mine, at=timezone.now())
        assert found
        sides = (found.previous, found.next)
        names = {old.pk: "Alice's", newer.pk: "newer", newest.pk: "newest", None: ""}
        before, after = (names[side.pk if side else None] for side in sides)
        return before, after

    assert around(old, is_mine=True) == ("", "newest")
    assert around(newest) == ("Alice's", "newer")
    assert around(newer) == ("newest", "")


def test_rows_of_a_team_with_rules_that_never_match_look_as_before(
    make_rule: MakeRule, make_delivery: MakeDelivery, alices: Person, team: Team
) -> None:
    make_delivery()
    before = alices.get("/").content.decode().partition('<ul class="rows"')[2]
    make_rule("Never", people=[alices.user], **NEVER)

    after = alices.get("/").content.decode().partition('<ul class="rows"')[2]

    assert after.partition("</ul>")[0] == before.partition("</ul>")[0]
