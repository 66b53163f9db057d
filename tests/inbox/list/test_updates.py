"""One cheap query returns 204 or one line about new deliveries."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.agents.keys import mint
from accounts.audit import SYSTEM
from accounts.models import Agent, Team
from inbox.list.updates import COUNT_UP_TO, mark
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery
from wake.models import Delivery


def ask(person: Person, **ago: float) -> Any:
    return person.get("/pulse", since=mark(timezone.now() - timedelta(**ago)))


def test_nothing_new_is_nothing(alices: Person, make_delivery: MakeDelivery) -> None:
    make_delivery(at=timezone.now() - timedelta(minutes=5))

    answer = ask(alices, minutes=1)

    assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize(
    ("count", "words"), [(1, "Show 1 new delivery"), (3, "Show 3 new deliveries")]
)
def test_what_came_since_is_counted_and_led_to(
    alices: Person, make_delivery: MakeDelivery, count: int, words: str
) -> None:
    for number in range(count):
        make_delivery(type=("update", "question", "output")[number])

    answer = ask(alices, minutes=1)

    assert words in text_of(answer)
    assert 'href="/"' in answer.content.decode()
    assert "<html" not in answer.content.decode()


def test_answered_test_and_other_teams_deliveries_are_no_updates(
    alices: Person,
    agent: Agent,
    make_delivery: MakeDelivery,
    answer: Callable[..., Any],
    elsewhere: Delivery,
) -> None:
    key, _ = mint(agent, by=SYSTEM, mode="test")
    make_delivery(key=key)
    answer(make_delivery())

    assert ask(alices, minutes=1).status_code == 204


def test_a_flood_is_counted_to_the_limit(alices: Person, make_delivery: MakeDelivery) -> None:
    for _ in range(COUNT_UP_TO + 1):
        make_delivery()

    assert f"Show {COUNT_UP_TO}+ new deliveries" in text_of(ask(alices, minutes=1))


@pytest.mark.parametrize("since", ["", "x", "-1", "٣", "9" * 16, "9" * 40])
def test_an_invalid_cursor_reports_no_updates(
    alices: Person, make_delivery: MakeDelivery, since: str
) -> None:
    make_delivery()

    assert alices.get("/pulse", since=since).status_code == 204


def test_the_page_says_since_when(alices: Person, make_delivery: MakeDelivery) -> None:
    page = alices.get("/")
    make_delivery()

    assert f'data-updates="/pulse?since={page.context["since"]}"' in page.content.decode()
    assert alices.get("/pulse", since=page.context["since"]).status_code == 200


def test_it_takes_one_query_beside_those_for_who_asks(
    alices: Person,
    make_delivery: MakeDelivery,
    second_team: Team,
    django_assert_num_queries: Callable[..., CaptureQueriesContext],
) -> None:
    make_delivery()

    with django_assert_num_queries(4):
        ask(alices, minutes=1)
