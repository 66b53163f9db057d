"""The statistics of an agent are exact for known weeks."""

from __future__ import annotations

import csv
import json
from datetime import datetime, timedelta
from io import StringIO
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Agent, User
from inbox.reading.readings import mark_read
from inbox.statistics import edit_sizes
from inbox.statistics.statistics import Period, statistics_of
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.answering_rules import run_rules
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeAnsweringRule, MakeDelivery
from wake.models import Delivery, Response
from wake.responses import release_due

KATHMANDU = ZoneInfo("Asia/Kathmandu")  # 5 h 45 min ahead
AT = datetime(2026, 3, 20, 12, tzinfo=KATHMANDU)


@pytest.fixture(autouse=True)
def _in_kathmandu() -> Any:
    with timezone.override(KATHMANDU):
        yield


@pytest.fixture
def weeks(make_delivery: MakeDelivery, answer: Answer, alice: User) -> None:
    """Creates deliveries of the seven days up to 20 March and of the seven before that."""

    def made(
        day: int, hour: int = 9, *, minutes: int = 0, opened: bool = True, **fields: Any
    ) -> None:
        status, words = fields.pop("status", "approved"), fields.pop("words", {})
        at = datetime(2026, 3, day, hour, tzinfo=KATHMANDU)
        delivery = make_delivery(at=at, **fields)
        if opened:
            mark_read(delivery, by=alice, at=at)
        if minutes:
            answer(delivery, status, at=at + timedelta(minutes=minutes), **words)

    edited = {"edited_json": '"one two three five"'}
    made(7, minutes=40)
    made(8, minutes=40, opened=False)
    made(9, type="question", timeout_seconds=600, minutes=50)
    made(13, type="alert")
    for number in range(1, 10):
        made(14, 9 + number, minutes=2 * number, timeout_seconds=900)
    made(
        15,
        minutes=200,
        opened=False,
        status="redirected",
        details_json='"one two three four"',
        words=edited,
    )
    made(16, type="question", timeout_seconds=3600)
    made(20, type="update", opened=False)


def _week(agent: Agent) -> tuple[Period, Period]:
    found = statistics_of(agent, days=7, at=AT)
    return found.now, found.before


@pytest.mark.usefixtures("weeks")
def test_a_week_and_the_week_before_have_their_numbers(agent: Agent) -> None:
    now, before = _week(agent)

    assert now.delivered == {"question": 1, "alert": 0, "output": 10, "update": 1}
    assert before.delivered == {"question": 1, "alert": 1, "output": 2, "update": 0}
    assert now.answered == {"approved": 9, "rejected": 0, "redirected": 1}
    assert before.answered == {"approved": 3, "rejected": 0, "redirected": 0}
    assert (now.windows, now.missed) == (10, 3)
    assert (before.windows, before.missed) == (1, 1)
    assert (now.unopened, before.unopened) == (1, 1)


@pytest.mark.usefixtures("weeks")
def test_the_median_and_the_ninth_decile_are_times_of_real_answers(
    agent: Agent,
) -> None:
    now, before = _week(agent)

    assert (now.half, now.most) == (timedelta(minutes=10), timedelta(minutes=18))
    assert (before.half, before.most) == (timedelta(minutes=40), timedelta(minutes=50))


@pytest.mark.usefixtures("weeks")
def test_the_size_of_an_edit_is_its_share_of_changed_words(agent: Agent) -> None:
    now, before = _week(agent)

    # Both have 36 letters. "four" went and "five" came.
    assert (now.edits, now.compared, now.changed, now.gone) == (1, 1, 22, 0)
    assert (before.edits, before.compared, before.changed) == (0, 0, None)


def test_the_newest_edits_are_compared_and_none_that_is_too_long(
    agent: Agent, make_delivery: MakeDelivery, answer: Answer
) -> None:
    at, half = AT - timedelta(hours=5), edit_sizes.MAX_EDITS // 2
    long = f'"{"x " * edit_sizes.COMPARED_AT_ONCE}"'
    edits = ['"all of it"', *['"one two"', '"one"'] * half, long]
    for number, edited in enumerate(edits):
        delivery = make_delivery(at=at + timedelta(minutes=number), details_json='"one"')
        answer(delivery, "redirected", at=delivery.created_at, edited_json=edited, feedback="See.")

    now, _ = _week(agent)

    # Four of the ten letters of "one" and "one two" were added. "one" stayed as it was.
    assert (now.edits, now.compared, now.changed) == (len(edits), 2 * half, 20)


@pytest.mark.usefixtures("weeks")
def test_an_unreadable_edit_does_not_hide_the_other_figures(agent: Agent, settings: Any) -> None:
    response = Response.objects.get(status="redirected")
    settings.WAKE_ENCRYPT_CONTENT = True
    response.save(update_fields=["edited_json"])
    settings.WAKE_ENCRYPTION_KEYS = ["another-key-of-thirty-two-characters"]

    now, _ = _week(agent)

    assert (now.edits, now.compared, now.answers) == (1, 0, 10)


def test_comparing_ends_when_its_time_is_up(make_delivery: MakeDelivery, answer: Answer) -> None:
    answer(delivery := make_delivery(), "redirected", edited_json='"Other."', feedback="See.")

    assert edit_sizes.shares([delivery], budget=-1) == []


@pytest.mark.usefixtures("weeks")
def test_erased_edits_are_counted_separately(agent: Agent) -> None:
    Response.objects.update(edited_json=None)
    Delivery.objects.update(details_json=None, erased_at=AT)

    now, _ = _week(agent)

    assert (now.edits, now.compared, now.changed, now.gone) == (0, 0, None, 1)
    assert now.answered["redirected"] == 1
    assert (now.half, now.missed) == (timedelta(minutes=10), 3)


def test_days_begin_where_the_person_is(agent: Agent, make_delivery: MakeDelivery) -> None:
    make_delivery(at=datetime(2026, 3, 13, 23, 59, 59, tzinfo=KATHMANDU))
    make_delivery(at=datetime(2026, 3, 14, 0, 0, tzinfo=KATHMANDU))

    found = statistics_of(agent, days=7, at=AT)

    assert [day.delivered for day in found.by_day] == [1, 0, 0, 0, 0, 0, 0]
    assert (found.now.deliveries, found.before.deliveries) == (1, 1)


def test_an_agent_without_a_past_has_no_times(agent: Agent) -> None:
    now, before = _week(agent)

    assert (now.deliveries, now.answers, now.half, now.most, now.changed) == (
        0,
        0,
        None,
        None,
        None,
    )
    assert before.deliveries == 0


def test_the_statistics_take_six_queries_for_any_amount_of_data(
    agent: Agent, make_delivery: MakeDelivery, answer: Answer
) -> None:
    for _ in range(5):
        answer(make_delivery(), "redirected", edited_json='"Other."', feedback="See.")

    with CaptureQueriesContext(connection) as asked:
        found = statistics_of(agent, days=90, at=timezone.now())

    assert (found.now.compared, len(asked)) == (5, 6)


@pytest.fixture
def yesterday(alice: User, make_delivery: MakeDelivery, answer: Answer) -> None:
    """Makes four outputs. Three were answered after 12 minutes, one of these without being opened.
    The fourth was answered a month ago, after 40 minutes."""
    now = timezone.now()
    then = now - timedelta(days=40)
    mark_read(earlier := make_delivery(at=then), by=alice, at=then)
    answer(earlier, at=then + timedelta(minutes=40))
    # At noon, so that no answer comes on the next day.
    start = (now - timedelta(days=1)).replace(hour=12, minute=0)
    made = [make_delivery(at=start + timedelta(minutes=n), timeout_seconds=3600) for n in range(4)]
    for delivery in made[:3]:
        answer(delivery, at=delivery.created_at + timedelta(minutes=12))
    for delivery in made[1:]:
        mark_read(delivery, by=alice, at=now)


@pytest.mark.usefixtures("yesterday")
def test_the_page_says_what_changed_and_shows_the_figures_beside_those_before(
    ritas: Person, agent: Agent
) -> None:
    answered = ritas.get(f"/agents/{agent.pk}/statistics/")

    page = text_of(answered)
    assert "Last 30 days: 4 deliveries, 3 answers." in page
    assert "Answers by kind How you answered, by the day of the answer. Approved 3" in page
    assert "5 to 15 min 3" in page
    assert "it changes no permissions." in page
    assert "Median response time: 12 min, was 40 min." in page
    assert "Missed deadlines: 1 of 4." in page
    assert "Answered without opening: 1 of 3, was 0 of 1." in page
    assert "Deliveries 4 1 Questions 0 0" in page
    assert "90th percentile 12 min 40 min" in page
    assert "style=" not in answered.content.decode()


@pytest.fixture
def approved_by_rule(
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
) -> None:
    """Makes two outputs that a rule approves at once."""
    make_answering_rule(on=True)
    for _ in range(2):
        make_delivery()
    now = timezone.now()
    assert run_rules(at=now) == 2
    release_due(at=now + timedelta(hours=1))


@pytest.mark.usefixtures("yesterday", "approved_by_rule")
def test_the_charts_and_the_times_leave_out_answers_of_rules(alices: Person, agent: Agent) -> None:
    page = text_of(alices.get(f"/agents/{agent.pk}/statistics/"))

    assert "Last 30 days: 6 deliveries, 5 answers, 2 of them given by rules." in page
    assert "How you answered, by the day of the answer. Approved 3" in page
    assert "under 5 min 0 5 to 15 min 3" in page
    assert "Median response time: 12 min" in page
    assert "Answered without opening: 1 of 3, was 0 of 1." in page
    assert "Answers 5 1 Given by rules 2 0 Approved 5 1" in page


@pytest.mark.usefixtures("approved_by_rule")
def test_the_page_says_that_only_rules_answered(alices: Person, agent: Agent) -> None:
    page = text_of(alices.get(f"/agents/{agent.pk}/statistics/"))

    assert page.count("Only rules answered in these days.") == 2
    assert "Answered without opening no answers no answers" in page


@pytest.mark.usefixtures("yesterday")
@pytest.mark.parametrize(("asked", "days"), [("7", 7), ("90", 90), ("1000", 30), ("x", 30)])
def test_there_is_a_column_for_each_of_the_days(
    alices: Person, agent: Agent, asked: str, days: int
) -> None:
    page = alices.get(f"/agents/{agent.pk}/statistics/", days=asked).content.decode()

    assert page.count('<g class="column">') == days
    assert page.count('<rect class="column__approved"') == (1 if days < 90 else 2)
    assert f'<a class="tabs__tab" href="?days={days}" aria-current="page">' in page


def test_an_agents_page_links_to_its_statistics(alices: Person, agent: Agent) -> None:
    page = alices.get(f"/agents/{agent.pk}/").content.decode()

    assert f'href="/agents/{agent.pk}/statistics/"' in page


def test_the_page_counts_erased_edits(
    alices: Person, agent: Agent, make_delivery: MakeDelivery, answer: Answer
) -> None:
    answer(delivery := make_delivery(), "redirected", feedback="Shorter.")
    Delivery.objects.filter(pk=delivery.pk).update(erased_at=timezone.now())

    page = text_of(alices.get(f"/agents/{agent.pk}/statistics/"))

    assert "Size of edits 1 edit erased no edits" in page


@pytest.mark.usefixtures("yesterday")
def test_the_statistics_are_exported_as_csv_and_json(alices: Person, agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(agent_id="=1+1")

    written = alices.get(f"/agents/{agent.pk}/statistics/export.csv", days="7")
    told = alices.get(f"/agents/{agent.pk}/statistics/export.json", days="90")

    rows = list(csv.DictReader(StringIO(written.content.decode(), newline="")))
    now = {row["figure"]: row["value"] for row in rows if row["period"] == "now"}
    assert {row["agent"] for row in rows} == {"'=1+1"}
    assert (now["delivered_output"], now["windows_missed"]) == ("4", "1")
    assert now["half_answered_within_seconds"] == "720.0"
    assert sum(row["period"] == "day" for row in rows) == 7 * 5
    assert written["Content-Disposition"].endswith('-7-days.csv"')
    record = json.loads(told.content)
    assert (record["agent"], record["days"], len(record["by_day"])) == ("=1+1", 90, 90)
    assert record["now"]["delivered"] == {"question": 0, "alert": 0, "output": 5, "update": 0}
    assert record["before"]["half_answered_within_seconds"] is None


def test_test_deliveries_do_not_count(agent: Agent, in_test_mode: AgentClient) -> None:
    in_test_mode.deliver()

    assert statistics_of(agent, days=7, at=timezone.now()).now.deliveries == 0
