"""The page shows an agent's deliveries of thirty days, with their outcomes and response times."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Agent, ApiKey, User
from database.clock import microseconds
from inbox.reading.readings import mark_read
from inbox.statistics import figures
from inbox.statistics.bar_chart import HEIGHT, bars
from pages.times import amount
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person, text_of
from tests.types import Age, Answer, MakeDelivery
from wake.deadlines import time_out_overdue
from wake.models import Delivery


def _made(delivery: Delivery, at: datetime) -> Delivery:
    Delivery.objects.filter(pk=delivery.pk).update(created_at=at, activity_at=at)
    delivery.refresh_from_db()
    return delivery


def test_the_list_has_the_provider_what_waits_and_thirty_days_of_answers(
    alices: Person, agent: Agent, make_delivery: MakeDelivery, answer: Answer
) -> None:
    now = timezone.now()
    answer(_made(make_delivery(), now - timedelta(days=31)))
    for status in ("approved", "approved", "rejected"):
        answer(make_delivery(), status)
    answer(make_delivery(provider="gpt"), "redirected", feedback="Shorter.")
    Agent.objects.create(team=agent.team, agent_id="zz-quiet")

    page = text_of(alices.get("/agents/"))

    assert (
        "research-agent-01 gpt not seen yet 0 4 \u2013 ZQ zz-quiet \u2013 not seen yet 0 0 \u2013"
        in page
    )


def test_an_agents_page_has_its_days_as_bars_and_as_a_table(
    alices: Person, agent: Agent, make_delivery: MakeDelivery, answer: Answer
) -> None:
    now = timezone.now()
    for number, ago in enumerate((0, 0, 0, 3, 29)):
        _made(make_delivery(), now - timedelta(days=ago, microseconds=number))
    _made(make_delivery(), now - timedelta(days=30))
    answer(make_delivery())

    answered = alices.get(f"/agents/{agent.pk}/")

    page = text_of(answered)
    today, then = (f"{day.day} {day:%b}" for day in (now, now - timedelta(days=3)))
    assert "Last 30 days 6 deliveries" in page
    assert f"{today} 4 1 0 0 0 {then} 1 0 0 0 0" in page
    assert answered.content.decode().count("<rect ") == 30
    assert f"<title>{then}: 1</title>" in answered.content.decode()
    assert "style=" not in answered.content.decode()


def test_a_day_is_the_persons_own(alice: User, agent: Agent, make_delivery: MakeDelivery) -> None:
    kathmandu = ZoneInfo("Asia/Kathmandu")  # 5 h 45 min ahead
    at = datetime(2026, 3, 10, 12, tzinfo=kathmandu)
    _made(make_delivery(), datetime(2026, 3, 9, 0, 0, tzinfo=kathmandu))
    _made(make_delivery(), datetime(2026, 3, 8, 23, 59, 59, tzinfo=kathmandu))

    with timezone.override(kathmandu):
        days = figures.figures(agent, at=at).days

    assert [day.delivered for day in days[-3:]] == [1, 1, 0]
    assert days[-1].date.isoformat() == "2026-03-10"


def test_a_month_over_the_change_of_the_clocks_has_thirty_days(
    agent: Agent, make_delivery: MakeDelivery
) -> None:
    berlin = ZoneInfo("Europe/Berlin")  # on 29 March, the day is one hour shorter
    at = datetime(2026, 4, 10, 12, tzinfo=berlin)
    _made(make_delivery(), datetime(2026, 3, 12, 0, 0, tzinfo=berlin))
    _made(make_delivery(), datetime(2026, 3, 11, 23, 59, tzinfo=berlin))

    with timezone.override(berlin):
        days = figures.figures(agent, at=at).days

    assert (len(days), days[0].date.isoformat()) == (30, "2026-03-12")
    assert [day.delivered for day in days[:2]] == [1, 0]


def test_the_page_shows_how_fast_and_how_often_unread_answers_came(
    alices: Person, bob: User, agent: Agent, make_delivery: MakeDelivery, answer: Answer, age: Age
) -> None:
    start = timezone.now() - timedelta(hours=5)
    for number, minutes in enumerate((10, 40, 300)):
        delivery = _made(make_delivery(), start + timedelta(seconds=number))
        if number:
            mark_read(delivery, by=alices.user, at=start)
        mark_read(delivery, by=bob, at=start)  # only the person who answered counts
        answer(delivery, at=delivery.created_at + timedelta(minutes=minutes))

    page = text_of(alices.get(f"/agents/{agent.pk}/"))

    assert "Median response time: 40 min" in page
    assert "Answered without opening: 1 of 3" in page


def test_the_page_counts_missed_deadlines(
    alices: Person, agent: Agent, make_delivery: MakeDelivery
) -> None:
    for on_timeout in ("proceed", "", "hold", "abort"):
        make_delivery(timeout_seconds=60, on_timeout=on_timeout)
    time_out_overdue(at=timezone.now() + timedelta(hours=1))

    assert "Missed deadlines: 2" in text_of(alices.get(f"/agents/{agent.pk}/"))


def test_the_page_counts_open_deliveries_and_unsent_callbacks(
    alices: Person, agent: Agent, make_delivery: MakeDelivery, answer: Answer, allowed_host: str
) -> None:
    make_delivery()
    make_delivery(type="question")
    answer(make_delivery(callback_webhook="https://hooks.example.com/"))

    answered = alices.get(f"/agents/{agent.pk}/")

    page = text_of(answered)
    assert "2 waiting" in page
    assert "1 unsent callback" in page
    assert f"/callbacks/?state=waiting&amp;agent={agent.pk}" in answered.content.decode()
    assert f"/audit/?agent={agent.pk}" in answered.content.decode()


def test_a_new_agent_has_nothing_to_show(alices: Person, agent: Agent) -> None:
    page = alices.get(f"/agents/{agent.pk}/")

    assert "Last 30 days 0 deliveries" in text_of(page)
    assert b'class="bars"' not in page.content


def test_test_deliveries_do_not_count(
    alices: Person, agent: Agent, in_test_mode: AgentClient
) -> None:
    in_test_mode.deliver()

    assert "Last 30 days 0 deliveries" in text_of(alices.get(f"/agents/{agent.pk}/"))
    assert "research-agent-01 \u2013 " in text_of(alices.get("/agents/"))


def test_a_limited_key_says_so(
    alices: Person, agent: Agent, key: ApiKey, caller: AgentClient
) -> None:
    caller.deliver()
    assert "49 of 50 left" in text_of(alices.get(f"/agents/{agent.pk}/"))
    later = timezone.now() + timedelta(hours=1)

    ApiKey.objects.filter(pk=key.pk).update(quota_us=microseconds(later))

    assert "rate limited for" in text_of(alices.get(f"/agents/{agent.pk}/"))


def test_the_page_says_that_it_reached_its_rate_limit_today(
    alices: Person, agent: Agent, key: ApiKey, caller: AgentClient, settings: Any
) -> None:
    settings.WAKE_QUOTA_LIVE = (500, 1)
    caller.deliver()
    assert "not reached today" in text_of(alices.get(f"/agents/{agent.pk}/"))

    refused = [caller.post(caller.payload()).status_code for _ in range(3)]

    assert refused == [429, 429, 429]
    assert "Reached its rate limit at" in text_of(alices.get(f"/agents/{agent.pk}/"))
    assert f"{agent} exceeded its rate limit" in text_of(alices.get("/audit/"))


def test_both_pages_take_few_queries_for_any_amount_of_data(
    alices: Person, agent: Agent, make_delivery: MakeDelivery, answer: Answer
) -> None:
    def queries(path: str) -> int:
        with CaptureQueriesContext(connection) as asked:
            alices.get(path)
        return len(asked)

    pages = ["/agents/", f"/agents/{agent.pk}/"]
    few = [queries(path) for path in pages]
    for number in range(5):
        Agent.objects.create(team=agent.team, agent_id=f"agent-{number}")
        answer(make_delivery())

    assert [queries(path) for path in pages] == few
    assert few[0] <= 7
    assert few[1] <= 8


def test_thirty_days_are_read_from_an_index(agent: Agent) -> None:
    at = timezone.now()
    rows = [
        Delivery(
            id=uuid4(),
            team_id=agent.team_id,
            agent=agent,
            claimed_agent_id=agent.agent_id,
            provider="claude",
            type="output",
            headline="One of many",
            summary="One of many.",
            created_at=at - timedelta(hours=number),
            activity_at=at - timedelta(hours=number),
        )
        for number in range(4_000)
    ]
    Delivery.objects.bulk_create(rows)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE wake_delivery")
            # The test has few rows, so PostgreSQL might find that reading the whole table is as
            # cheap as using the index.
            cursor.execute("SET LOCAL enable_seqscan = off")

    start = figures.first_day(at)
    plan = figures.delivered_since(start).filter(agent=agent).explain()

    # SQLite gives the index of a constraint a name of its own.
    assert "cursor_of_an_agent" in plan or "agent_id=? AND lane=? AND activity_at>?" in plan
    assert figures.figures(agent, at=at).totals.delivered in range(29 * 24, 30 * 24 + 1)


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (timedelta(seconds=4), "4 s"),
        (timedelta(minutes=38, seconds=10), "38 min"),
        (timedelta(hours=2, minutes=10), "2 h 10 min"),
        (timedelta(hours=3), "3 h"),
        (timedelta(days=3, hours=1), "3 days"),
    ],
)
def test_durations_are_written_as_people_say_them(span: timedelta, words: str) -> None:
    assert amount(span) == words


def test_the_smallest_bar_can_still_be_seen() -> None:
    heights = [bar.height for bar in bars([0, 1, 500, 1000])]

    assert heights == [0, 2, HEIGHT // 2, HEIGHT]
