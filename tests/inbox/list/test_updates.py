"""Whether more has come: 204, or one line, for one cheap query."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.keys import mint
from accounts.models import Agent, Team
from inbox.pulse import COUNTED, mark
from tests.inbox.people import Person, text_of
from wake.models import Delivery

Make = Callable[..., Delivery]


def ask(person: Person, **ago: float) -> Any:
    return person.get("/pulse", since=mark(timezone.now() - timedelta(**ago)))


def test_nothing_new_is_nothing(alices: Person, make_delivery: Make) -> None:
    make_delivery(at=timezone.now() - timedelta(minutes=5))

    answer = ask(alices, minutes=1)

    assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize(
    ("count", "words"), [(1, "Show 1 new delivery"), (3, "Show 3 new deliveries")]
)
def test_what_came_since_is_counted_and_led_to(
    alices: Person, make_delivery: Make, count: int, words: str
) -> None:
    for number in range(count):
        make_delivery(type=("update", "question", "output")[number])

    answer = ask(alices, minutes=1)

    assert words in text_of(answer)
    assert 'href="/"' in answer.content.decode()
    assert "<html" not in answer.content.decode()


def test_what_was_answered_or_is_a_test_or_somebody_elses_is_not_news(
    alices: Person,
    agent: Agent,
    make_delivery: Make,
    answer: Callable[..., Any],
    elsewhere: Delivery,
) -> None:
    key, _ = mint(agent, by=SYSTEM, lane="test")
    make_delivery(key=key)
    answer(make_delivery())

    assert ask(alices, minutes=1).status_code == 204


def test_a_flood_is_counted_to_the_limit(alices: Person, make_delivery: Make) -> None:
    for _ in range(COUNTED + 1):
        make_delivery()

    assert f"Show {COUNTED}+ new deliveries" in text_of(ask(alices, minutes=1))


@pytest.mark.parametrize("since", ["", "x", "-1", "٣", "9" * 16, "9" * 40])
def test_a_mark_that_is_none_is_nothing_new(
    alices: Person, make_delivery: Make, since: str
) -> None:
    make_delivery()

    assert alices.get("/pulse", since=since).status_code == 204


def test_the_page_says_since_when(alices: Person, make_delivery: Make) -> None:
    page = alices.get("/")
    make_delivery()

    assert f'data-pulse="/pulse?since={page.context["since"]}"' in page.content.decode()
    assert alices.get("/pulse", since=page.context["since"]).status_code == 200


def test_it_takes_one_query_beside_those_for_who_asks(
    alices: Person,
    make_delivery: Make,
    second_team: Team,
    django_assert_num_queries: Callable[..., CaptureQueriesContext],
) -> None:
    make_delivery()

    with django_assert_num_queries(4):
        ask(alices, minutes=1)
