"""Pages list the deadlines that close soon and the deadlines that expired."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Team, User
from inbox.list.deadlines.closing_soon import back_at_work, open_deadlines, until_when
from tests.inbox.person import Person, text_of
from tests.types import Age, Answer, MakeDelivery, MakeRule
from wake.models import Delivery

MONDAY = datetime(2026, 11, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "hour", "zone", "back", "words"),
    [
        (0, 16, "UTC", MONDAY.replace(day=24, hour=9), "tomorrow 09:00"),
        (4, 11, "UTC", MONDAY.replace(day=28, hour=9), "tomorrow 09:00"),
        (4, 12, "UTC", MONDAY.replace(day=30, hour=9), "Monday 09:00"),
        (5, 1, "UTC", MONDAY.replace(day=30, hour=9), "Monday 09:00"),
        (6, 22, "UTC", MONDAY.replace(day=30, hour=9), "Monday 09:00"),
        # Friday 07:00 UTC is already afternoon in Kathmandu, and Sunday 19:00 UTC is already Monday
        # there.
        (4, 7, "Asia/Kathmandu", datetime(2026, 11, 30, 3, 15, tzinfo=UTC), "Monday 09:00"),
        (6, 19, "Asia/Kathmandu", datetime(2026, 12, 1, 3, 15, tzinfo=UTC), "tomorrow 09:00"),
        # Sunday 02:00 UTC is still Saturday night in New York.
        (6, 2, "America/New_York", datetime(2026, 11, 30, 14, tzinfo=UTC), "Monday 09:00"),
    ],
)
def test_a_person_is_back_at_nine_in_their_time_zone(
    alice: User, days: int, hour: int, zone: str, back: datetime, words: str
) -> None:
    alice.time_zone = zone
    at = MONDAY + timedelta(days=days, hours=hour)

    with timezone.override(zone):
        assert back_at_work(alice, at=at) == back
        assert until_when(back, at=at) == words


def test_deadlines_before_then_are_listed_with_the_agents_plan(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    make_delivery(headline="Third", type="question", timeout_seconds=3 * 3600, on_timeout="abort")
    make_delivery(
        headline="First", type="question", timeout_seconds=600, assumption="The first <b>price</b>"
    )
    make_delivery(headline="Second", timeout_seconds=7200, on_timeout="hold")
    make_delivery(headline="After the weekend", timeout_seconds=604_800)
    make_delivery(headline="Told", type="update", timeout_seconds=600)

    page = alices.get("/closing-soon/")

    text = text_of(page)
    assert "3 deadlines before" in text
    assert text.index("First") < text.index("Second") < text.index("Third")
    assert "Agent's plan: The first <b>price</b>" in text
    assert "goes ahead without you" in text
    assert "waiting for you; due" in text
    assert "stops " in text
    assert "After the weekend" not in text
    assert "Told" not in text


def test_a_plan_that_a_rule_stops_is_not_listed(
    alices: Person, make_delivery: MakeDelivery, make_rule: MakeRule, age: Age
) -> None:
    make_rule(role="owner", must_wait=True)
    made_to_wait = {"timeout_seconds": 600, "assumption": "I go on with ten."}
    make_delivery(**made_to_wait)
    make_delivery(timeout_seconds=600, on_timeout="abort", assumption="I stop at five.")
    age(make_delivery(**made_to_wait), hours=1)

    soon, missed = (text_of(alices.get(path)) for path in ("/closing-soon/", "/missed-deadlines/"))

    assert "waiting for you; due" in soon
    assert "I stop at five." in soon
    assert "I go on with ten." not in soon + missed
    assert "Market report" in missed


def test_a_reader_has_no_deadlines(ritas: Person, make_delivery: MakeDelivery) -> None:
    make_delivery(timeout_seconds=600)

    assert "No deadlines before" in text_of(ritas.get("/closing-soon/"))


def test_snoozed_deliveries_are_listed_too(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(headline="Snoozed", timeout_seconds=3600)
    alices.post(delivery, "snooze", choice="hour")

    assert "Snoozed" in text_of(alices.get("/closing-soon/"))


def test_missed_deadlines_show_the_assumption_and_the_late_answer(
    alices: Person, make_delivery: MakeDelivery, age: Age, answer: Answer
) -> None:
    earlier = make_delivery(headline="Earlier", timeout_seconds=60, assumption="Ten is enough")
    late = make_delivery(headline="Late", timeout_seconds=60, on_timeout="abort")
    in_time = make_delivery(headline="In time", timeout_seconds=60)
    answer(in_time)
    make_delivery(headline="Open", timeout_seconds=600)
    for delivery, hours in ((earlier, 3), (late, 2), (in_time, 1)):
        age(delivery, hours=hours)
    answer(Delivery.objects.get(pk=late.pk), "rejected")

    text = text_of(alices.get("/missed-deadlines/"))

    assert text.index("Late") < text.index("Earlier")
    assert "Agent's plan: Ten is enough" in text
    assert "The agent may have gone ahead." in text
    assert "The agent planned to stop." in text
    assert "Not answered." in text
    assert "Answered late: rejected by alice" in text
    assert "In time" not in text
    assert "Open" not in text


@pytest.mark.parametrize(
    ("type", "expected"),
    [
        ("output", "Answered late: changes requested by alice"),
        ("question", "Answered late by alice"),
    ],
)
def test_a_late_answer_in_words_is_named_as_on_its_page(
    alices: Person, make_delivery: MakeDelivery, age: Age, answer: Answer, type: str, expected: str
) -> None:
    late = make_delivery(type=type, timeout_seconds=60)
    age(late, hours=1)
    answer(Delivery.objects.get(pk=late.pk), "redirected", feedback="Shorter, please")

    text = text_of(alices.get("/missed-deadlines/"))

    assert expected in text
    assert "redirected" not in text


def test_a_delivery_replaced_in_time_is_no_missed_deadline(
    alices: Person, make_delivery: MakeDelivery, age: Age
) -> None:
    first = make_delivery(headline="First draft", timeout_seconds=60)
    make_delivery(headline="Second draft", supersedes=first.pk)
    age(first, hours=1)

    assert "First draft" not in text_of(alices.get("/missed-deadlines/"))


def test_missed_deadlines_are_paged_without_gaps(
    alices: Person, make_delivery: MakeDelivery, age: Age
) -> None:
    for number in range(55):
        delivery = make_delivery(headline=f"Number {number:02}", timeout_seconds=60)
        age(delivery, minutes=60 + number)

    first = alices.get("/missed-deadlines/")
    second = alices.get("/missed-deadlines/", before=str(first.context["older"]))

    headlines = [line.row.delivery.headline for line in first.context["lines"]]
    headlines += [line.row.delivery.headline for line in second.context["lines"]]
    assert headlines == [f"Number {number:02}" for number in range(55)]
    assert "Show older" in text_of(first)
    assert "Show older" not in text_of(second)


@pytest.mark.parametrize("path", ["/closing-soon/", "/missed-deadlines/"])
def test_another_teams_deadlines_are_not_listed(
    alices: Person, elsewhere: Delivery, path: str
) -> None:
    Delivery.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    assert "secret plan" not in text_of(alices.get(path))

    Delivery.objects.update(expires_at=timezone.now() + timedelta(hours=1))
    assert "secret plan" not in text_of(alices.get(path))


@pytest.mark.parametrize("path", ["/closing-soon/", "/missed-deadlines/"])
def test_the_pages_take_few_queries(
    alices: Person,
    make_delivery: MakeDelivery,
    age: Age,
    second_team: Team,
    path: str,
    django_assert_max_num_queries: Callable[..., CaptureQueriesContext],
) -> None:
    for _ in range(5):
        make_delivery(timeout_seconds=3600)
        age(make_delivery(timeout_seconds=60), hours=1)

    with django_assert_max_num_queries(5):
        assert alices.get(path).status_code == 200


def test_both_lists_are_read_from_the_index_of_deadlines(
    team: Team, make_delivery: MakeDelivery
) -> None:
    make_delivery(timeout_seconds=60)
    now = timezone.now()
    closing = open_deadlines(team.pk, after=now, until=now + timedelta(hours=1))
    passed = Delivery.objects.for_team(team).filter(mode="live").passed_unanswered(now)

    for rows in (closing.order_by("expires_at"), passed.order_by("-expires_at")):
        assert "windows_of_a_team" in plan_of(rows[:51])


def plan_of(rows: Any) -> str:
    if connection.vendor == "postgresql":
        # The table is too small for PostgreSQL to choose an index by itself.
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_sort = off")
            cursor.execute("SET LOCAL enable_bitmapscan = off")
    return str(rows.explain())
