"""The history lists ended deliveries with their outcome."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Agent, Team, User
from inbox.search.index import index_new
from pages.times import moment, when
from tests.inbox.person import Person, text_of
from tests.types import Age, Answer, MakeDelivery
from wake.acknowledgements import acknowledge
from wake.models import Delivery


def test_answered_deliveries_are_listed_with_person_and_answer(
    alices: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    answer(make_delivery(headline="Answered"), "rejected")
    answer(make_delivery(headline="Held"), held=True)
    make_delivery(headline="Still waiting")

    page = text_of(alices.get("/history/"))

    assert "Answered Rejected by alice research-agent-01" in page
    assert "Held Approved by alice" in page
    assert "Goes to the agent in " in page
    assert "Still waiting" not in page


def test_expired_deliveries_are_listed_and_stay_in_the_inbox(
    alices: Person, make_delivery: MakeDelivery, age: Age
) -> None:
    age(make_delivery(headline="Too late", timeout_seconds=60), minutes=5)

    history = text_of(alices.get("/history/"))

    assert "Too late Expired" in history
    assert "The agent may have gone ahead." in history
    assert "Too late" in text_of(alices.get("/"))


def test_every_row_shows_the_time_by_which_the_list_is_sorted(
    alice: User, alices: Person, make_delivery: MakeDelivery, age: Age
) -> None:
    """The list used to be sorted by one time and to show another time, so the rows seemed to be in
    no order."""
    expired = make_delivery(headline="Too late", timeout_seconds=24 * 3600)
    age(expired, hours=25)
    acknowledged = make_delivery(headline="Seen", type="update")
    age(acknowledged, hours=2)
    acknowledge([acknowledged.pk], by=alice, at=timezone.now())

    page = text_of(alices.get("/history/"))

    for delivery, ended in ((expired, "Deadline passed"), (acknowledged, "Closed")):
        delivery.refresh_from_db()
        listed = moment(delivery.activity_at, now=timezone.now())
        end = delivery.expires_at or delivery.acknowledged_at
        assert end is not None
        assert f"research-agent-01 {listed} {ended} {when(end, now=timezone.now())}" in page
    assert page.index("Seen") < page.index("Too late")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, {"Prices", "Names", "Colours"}),
        ({"status": "approved"}, {"Prices"}),
        ({"status": "rejected"}, {"Names"}),
        ({"status": "expired"}, {"Colours"}),
        ({"status": "nonsense"}, {"Prices", "Names", "Colours"}),
        ({"q": "pric"}, {"Prices"}),
        ({"q": "ROUNDED"}, {"Prices"}),
        ({"q": "type:question"}, {"Names"}),
        ({"q": "pric", "status": "rejected"}, set()),
        ({"q": "status:rejected -names"}, set()),
        ({"agent": "research"}, {"Prices", "Names", "Colours"}),
        ({"agent": "nonsense"}, set()),
        ({"by": "ali"}, {"Prices", "Names"}),
        ({"from": "2099-01-01"}, set()),
        ({"to": "2099-01-01"}, {"Prices", "Names", "Colours"}),
    ],
)
def test_history_is_filtered_by_text_outcome_and_agent(
    alices: Person,
    make_delivery: MakeDelivery,
    answer: Answer,
    age: Age,
    query: dict[str, str],
    expected: set[str],
) -> None:
    answer(make_delivery(headline="Prices", summary="All rounded."))
    answer(make_delivery(headline="Names", type="question"), "rejected")
    age(make_delivery(headline="Colours", timeout_seconds=60), minutes=5)
    index_new(at=timezone.now())

    page = text_of(alices.get("/history/", **query))

    assert {word for word in ("Prices", "Names", "Colours") if word in page} == expected
    assert ("No results" in page) == ("Clear filter" in page) == (not expected)


def test_the_id_of_an_agent_finds_what_it_delivered(
    alices: Person, agent: Agent, make_delivery: MakeDelivery, answer: Answer
) -> None:
    answer(make_delivery(headline="Theirs"))
    index_new(at=timezone.now())

    page = alices.get("/history/", q=agent.agent_id.upper())

    assert "Theirs" in text_of(page)
    assert f"Showing deliveries from your agent {agent.agent_id}." in text_of(page)
    assert page.context["form"]["agent"] == agent.agent_id
    assert "No results" in text_of(alices.get("/history/", q=f'"{agent.agent_id}"'))


def test_acknowledged_and_replaced_deliveries_are_listed_too(
    alice: User, alices: Person, agent: Agent, make_delivery: MakeDelivery
) -> None:
    acknowledge([make_delivery(headline="Seen", type="update").pk], by=alice, at=timezone.now())
    make_delivery(headline="Second", supersedes=make_delivery(headline="First").pk)

    page = text_of(alices.get("/history/"))

    assert f"Seen Acknowledged by alice {agent.agent_id}" in page
    assert f"First Replaced {agent.agent_id}" in page
    assert "Second" not in page
    assert "Seen" in text_of(alices.get("/history/", status="acknowledged"))
    assert "Seen" not in text_of(alices.get("/history/", q="status:superseded"))
    assert "Seen" not in text_of(alices.get("/history/", status="expired"))


def test_history_is_paged_to_its_end(
    alices: Person, make_delivery: MakeDelivery, age: Age, second_team: Team
) -> None:
    for number in range(105):
        make_delivery(headline=f"Number {number:03}", timeout_seconds=60)
    earlier = timezone.now() - timedelta(minutes=5)
    Delivery.objects.update(expires_at=earlier)
    headlines: list[str] = []
    query: dict[str, str] = {"status": "expired"}

    while True:
        page: Any = alices.get("/history/", **query)
        headlines += [past.row.delivery.headline for past in page.context["rows"]]
        if page.context["older"] is None:
            break
        query["before"] = str(page.context["older"])
        assert f"before={query['before']}" in page.content.decode()

    assert headlines == [f"Number {number:03}" for number in reversed(range(105))]


def test_an_id_in_the_search_box_leads_to_the_delivery(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()

    answer = alices.get("/history/", q=f" {str(delivery.pk).upper()} ")

    assert answer["Location"] == f"/deliveries/{delivery.pk}/"


def test_the_history_takes_at_most_six_queries(
    alices: Person,
    make_delivery: MakeDelivery,
    second_team: Team,
    answer: Answer,
    django_assert_max_num_queries: Callable[..., Any],
) -> None:
    for _ in range(55):
        answer(make_delivery())

    with django_assert_max_num_queries(6):
        assert alices.get("/history/").status_code == 200


def test_an_empty_history_says_so(alices: Person) -> None:
    assert "Nothing here yet" in text_of(alices.get("/history/"))
