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
from accounts.models import Agent, Team, User
from inbox.reading.updates import COUNT_UP_TO, mark
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery
from wake.models import Delivery


def ask(person: Person, **ago: float) -> Any:
    return person.get("/pulse", since=mark(timezone.now() - timedelta(**ago)))


def test_without_new_deliveries_the_count_is_zero(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=timezone.now() - timedelta(minutes=5))

    answer = ask(alices, minutes=1)

    assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize(
    ("count", "words"), [(1, "Show 1 new delivery"), (3, "Show 3 new deliveries")]
)
def test_new_deliveries_are_counted_and_linked(
    alices: Person, make_delivery: MakeDelivery, count: int, words: str
) -> None:
    for number in range(count):
        make_delivery(type=("update", "question", "output")[number])

    answer = ask(alices, minutes=1)

    assert words in text_of(answer)
    assert 'href="/"' in answer.content.decode()
    assert "<html" not in answer.content.decode()


def test_test_and_other_teams_deliveries_are_no_updates(
    alices: Person, agent: Agent, make_delivery: MakeDelivery, elsewhere: Delivery, mallory: User
) -> None:
    key, _ = mint(agent, by=SYSTEM, mode="test")
    make_delivery(key=key)
    Person(mallory).answer(elsewhere)

    assert ask(alices, minutes=1).status_code == 204


def test_a_row_that_a_colleague_answers_meanwhile_says_so(
    alices: Person, bobs: Person, ritas: Person, make_delivery: MakeDelivery
) -> None:
    answered, seen, open_again = make_delivery(), make_delivery(type="update"), make_delivery()

    bobs.answer(answered)
    bobs.client.post("/acknowledgements", {"deliveries": str(seen.pk)})
    bobs.answer(open_again)
    bobs.undo(open_again)

    for person in (alices, ritas):
        html = ask(person, minutes=1).content.decode()
        assert f'data-ended="{answered.pk}">Answered by bob<' in html
        assert f'data-ended="{seen.pk}">Acknowledged by bob<' in html
        assert f'data-ended="{open_again.pk}"' not in html


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


def test_the_page_has_the_cursor_of_its_newest_delivery(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    page = alices.get("/")
    make_delivery()

    assert f'data-updates="/pulse?since={page.context["since"]}"' in page.content.decode()
    assert alices.get("/pulse", since=page.context["since"]).status_code == 200


def test_it_takes_three_queries_beside_those_for_who_asks(
    alices: Person,
    make_delivery: MakeDelivery,
    second_team: Team,
    django_assert_num_queries: Callable[..., CaptureQueriesContext],
) -> None:
    make_delivery()

    with django_assert_num_queries(6):
        ask(alices, minutes=1)
