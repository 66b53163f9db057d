"""Lists of a large database are read from an index, in a constant number of queries.
docs/operations.md has the figures for a million deliveries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Agent, Membership, Team, User
from database.clock import database_now
from tests.fixtures.strict_client import Client
from wake.deliveries import deliver

# VACUUM cannot run inside a transaction.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
LARGE = {"wake_delivery", "wake_response", "inbox_searchable"}
WORDS = {"words_of_deliveries", "wake_delivery_pkey"}
INDEXES = {
    "/": {"waiting_of_a_team"},
    "/?q=report": {"waiting_of_a_team"},
    "/history/": {"history_of_a_team"},
    "/history/?agent=many-agent-002": {"cursor_of_an_agent"},
    "/history/?by=mira": {"answers_of_a_person"},
    "/history/?q=report": WORDS,
    "/history/?q=report+agent:many-agent-002": WORDS,
    '/history/?q="market+report"+-pricing': WORDS,
}


def test_pages_take_as_many_queries_for_thousands_as_for_ten() -> None:
    few, many = filled("few", deliveries=10), filled("many", deliveries=5_000)

    for path, most in {"/": 7, "/history/": 6, "/history/?q=report": 9}.items():
        counts = [len(queries(browser, path)) for browser in (few, many)]
        assert counts[0] == counts[1] <= most, path


def test_a_person_of_many_teams_costs_no_more_queries() -> None:
    browser = filled("first", deliveries=100)
    paths = {"/": 7, waiting_delivery("first"): 9}
    before = {path: len(queries(browser, path)) for path in paths}
    user = User.objects.get(email="owner@first.example.com")
    for number in range(12):
        team = Team.objects.create(slug=f"team-{number}", name=f"Team {number}")
        Membership.objects.create(team=team, user=user, role="owner")

    for path, most in paths.items():
        assert len(queries(browser, path)) == before[path] <= most, path


@pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL's plans")
def test_each_list_is_read_from_its_index() -> None:
    browser = filled("many", deliveries=2_000)
    delivery_page = {waiting_delivery("many"): {"wake_delivery_pkey", "waiting_of_a_team"}}

    for path, indexes in (INDEXES | delivery_page).items():
        nodes = [node for sql in queries(browser, path) for node in plan(sql)]
        assert indexes <= {node.get("Index Name") for node in nodes}, path
        scanned = {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"}
        assert not scanned & LARGE, path


def test_a_filled_team_can_be_timed(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("fill", deliveries=300, agents=30)

    call_command("time_pages", only="never occurs", plans=True)

    assert "a word that never occurs" in capsys.readouterr().out
    with pytest.raises(CommandError, match="There is no data"):
        call_command("time_pages", team="empty")
    with pytest.raises(CommandError, match="already has deliveries"):
        call_command("fill")


def filled(slug: str, *, deliveries: int) -> Client:
    """Returns the browser of an owner whose team has this many deliveries."""
    call_command("fill", deliveries=deliveries, agents=5, team=slug)
    user = User.objects.create_user(f"owner@{slug}.example.com")
    Membership.objects.create(team=Team.objects.get(slug=slug), user=user, role="owner")
    client = Client()
    client.force_login(user)
    client.get("/")  # the first request stores preferences
    return client


def waiting_delivery(slug: str) -> str:
    """Delivers a question to the team, and returns the path of its page."""
    agent = Agent.objects.filter(team__slug=slug)[:1].get()
    delivery = deliver(
        agent,
        agent_id=agent.agent_id,
        provider="claude",
        type="question",
        headline="Ship it?",
        summary="Everything is green.",
        at=database_now(),
    ).delivery
    return f"/deliveries/{delivery.pk}/"


def queries(browser: Client, path: str) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        assert browser.get(path).status_code == 200
    return [query["sql"] for query in captured]


def plan(sql: str) -> Iterator[dict[str, Any]]:
    """Yields the nodes of the plan. Turns sequential scans off, because the planner would choose
    them for tables that are only small in this test."""
    if not any(f'"{table}"' in sql or f" {table} " in sql for table in LARGE):
        return
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
        [[[found]]] = cursor.fetchall()
        cursor.execute("RESET enable_seqscan")
    waiting = [found["Plan"]]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.get("Plans", [])
