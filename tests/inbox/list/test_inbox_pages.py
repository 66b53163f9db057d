"""A long inbox has pages, and its counts and queries stay limited."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Agent, Team
from inbox.list.sections import Section
from tests.inbox.many import many_like
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from wake.models import Delivery

TYPES = ("update", "output", "alert", "question")


def test_a_page_has_fifty_rows_and_older_ones_follow(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    now = timezone.now()
    for number in range(120):
        make_delivery(headline=f"Number {number:03}", at=now - timedelta(minutes=200 - number))
    headlines: list[str] = []
    path = "/"

    while path:
        [section] = _sections(alices.get(path))
        headlines += [row.delivery.headline for row in section.rows]
        path = f"/?type=output&before={section.older}" if section.older else ""

    assert headlines == [f"Number {number:03}" for number in reversed(range(120))]


def test_rows_of_the_same_instant_are_neither_lost_nor_shown_twice(
    alices: Person, team: Team, make_delivery: MakeDelivery
) -> None:
    make_delivery()
    instant = timezone.now()
    for number in range(70):
        make_delivery(headline=f"Number {number}")
    Delivery.objects.update(created_at=instant)

    [first] = _sections(alices.get("/"))
    [second] = _sections(alices.get("/", type="output", before=str(first.older)))

    rows = [*first.rows, *second.rows]
    assert len({row.delivery.pk for row in rows}) == len(rows) == 71


@pytest.mark.parametrize(
    ("path", "back"), [("/", "Back to the inbox"), ("/history/", "Back to the newest")]
)
def test_a_page_past_the_end_offers_no_filter_to_clear(
    alices: Person, make_delivery: MakeDelivery, path: str, back: str
) -> None:
    make_delivery()

    page = text_of(alices.get(path, before=f"1-{uuid4()}"))

    assert f"Nothing older. {back}" in page
    assert "Clear filter" not in page
    assert "No results" not in page


def test_an_invalid_cursor_shows_the_first_page(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    make_delivery()

    for before in ("x", "1-2", "99999999999999999999-x", "-", "\u0661-\u0662"):
        assert "Market report" in text_of(alices.get("/", before=before))


def test_a_section_is_counted_to_five_hundred_and_no_further(
    alices: Person, agent: Agent, make_delivery: MakeDelivery
) -> None:
    first = make_delivery()
    many_like(first, 501)

    page = text_of(alices.get("/"))

    assert "For review 500+" in page
    assert "More than 500 deliveries need you" in page


def test_the_inbox_takes_at_most_seven_queries(
    alices: Person,
    make_delivery: MakeDelivery,
    second_team: Team,
    answer: Answer,
    django_assert_max_num_queries: Callable[..., CaptureQueriesContext],
) -> None:
    for number in range(60):
        make_delivery(type=TYPES[number % 4])
    for _ in range(55):
        make_delivery(type="update")
    answered = make_delivery()
    answer(answered, held=True)

    with django_assert_max_num_queries(7):
        page = alices.get("/", answered=str(answered.pk))

    assert page.status_code == 200
    assert "Show older" in text_of(page)


@pytest.mark.parametrize("waiting", [10, 5_000])
def test_ten_and_five_thousand_deliveries_take_the_same_queries(
    alices: Person,
    make_delivery: MakeDelivery,
    waiting: int,
    django_assert_num_queries: Callable[..., CaptureQueriesContext],
) -> None:
    for type in TYPES:
        many_like(make_delivery(type=type, timeout_seconds=7200), waiting // 4)

    with django_assert_num_queries(7):
        page = alices.get("/")

    assert page.content.count(b'<li class="row') == 4 * min(waiting // 4 + 1, 50)


def test_an_empty_inbox_takes_at_most_seven_queries(
    alices: Person, db: None, django_assert_max_num_queries: Callable[..., CaptureQueriesContext]
) -> None:
    with django_assert_max_num_queries(7):
        alices.get("/")


def _sections(page: Any) -> list[Section]:
    return [section for section in page.context["inbox"].sections if section.rows]
