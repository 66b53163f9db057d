"""Web servers and workers may have a wrong clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.agents import keys
from accounts.audit.events import SYSTEM
from accounts.models import Agent, ApiKey, User
from database import clock
from database.clock import database_now
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from wake.deadlines import time_out_overdue
from wake.models import Delivery, Response
from wake.responses import release_due

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not settings.DATABASE_URL, reason="SQLite has this machine's clock"),
]
TEN_MINUTES = timedelta(minutes=10)
MOMENT = timedelta(seconds=5)


def true_now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    assert isinstance(now, datetime)
    return now


def minted(agent: Agent, **expires: float) -> AgentClient:
    row, text = keys.mint(agent, by=SYSTEM, expires_at=true_now() + timedelta(**expires))
    row.text = text  # type: ignore[attr-defined]
    return AgentClient(row, agent.agent_id)


@pytest.fixture(params=[TEN_MINUTES, -TEN_MINUTES], ids=["ahead", "behind"])
def skewed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> timedelta:
    """Gives this process a clock that differs from the database's clock. The process has not read
    the database's clock yet."""
    right = timezone.now
    # The clock of the machine, which no test may set.
    monkeypatch.setattr(timezone, "now", lambda: right() + request.param)
    monkeypatch.setattr(clock, "_last", None)  # a process that has just begun
    skew: timedelta = request.param
    return skew


def test_a_delivery_and_its_deadline_follow_the_database(
    skewed: timedelta, caller: AgentClient
) -> None:
    before = true_now()

    pk = caller.deliver(timeout_seconds=60)

    delivery = Delivery.objects.get()
    assert before <= delivery.created_at <= true_now()
    assert delivery.expires_at == delivery.created_at + timedelta(seconds=60)
    assert caller.poll(pk)["expired"] is False
    assert caller.sweep()["deliveries"][0]["expired"] is False
    assert time_out_overdue(at=database_now()) == 0


def test_an_answer_is_held_and_released_by_the_databases_clock(
    skewed: timedelta, caller: AgentClient, alice: User, signed_in: Callable[..., Any]
) -> None:
    pk = caller.deliver()
    before = true_now()

    form = {"status": "approved", "content_hash": Delivery.objects.get().content_hash}
    assert signed_in(alice).post(f"/deliveries/{pk}/response", form).status_code == 303

    response = Response.objects.get()
    held = timedelta(seconds=settings.WAKE_HOLD_SECONDS)
    assert before <= response.answered_at <= true_now()
    assert response.release_at == response.answered_at + held
    assert release_due(at=database_now()) == 0
    assert caller.poll(pk)["status"] == "pending"


def test_keys_end_by_the_databases_clock(skewed: timedelta, agent: Agent) -> None:
    works, ended = minted(agent, minutes=5), minted(agent, minutes=-5)

    assert works.get("responses").status_code == 200
    assert ended.get("responses").status_code == 401


@pytest.mark.parametrize("request_of", ["deliver", "poll", "sweep"])
def test_no_hot_request_asks_what_the_time_is(
    caller: AgentClient, monkeypatch: pytest.MonkeyPatch, request_of: str
) -> None:
    pk = caller.deliver()
    ask: dict[str, Callable[[], Any]] = {
        "deliver": caller.deliver,
        "poll": lambda: caller.poll(pk),
        "sweep": caller.sweep,
    }
    monkeypatch.setattr(clock, "FRESH_SECONDS", 10)  # as in a server (tests/conftest.py)
    monkeypatch.setattr(clock, "_last", None)  # a process that has just begun

    with CaptureQueriesContext(connection) as captured:
        ask[request_of]()

    statements = [query["sql"] for query in captured]
    assert not [sql for sql in statements if "clock_timestamp" in sql.lower()]
    assert sum("statement_timestamp" in sql.lower() for sql in statements) == 1


def test_a_slow_reading_does_not_set_the_clock() -> None:
    database_now()

    clock.record(true_now() - timedelta(seconds=3), asked_at=clock.ticks() - 4_000_000)

    assert abs(database_now() - true_now()) < timedelta(seconds=0.5)


def test_a_clock_that_was_set_is_followed_with_the_next_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "_last", None)  # a process that has just begun
    an_hour_later = true_now() + timedelta(hours=1)

    clock.record(an_hour_later, asked_at=clock.ticks())

    assert timedelta(0) <= database_now() - an_hour_later < MOMENT
    monkeypatch.setattr(clock, "FRESH_SECONDS", 0)  # ten seconds later
    assert abs(database_now() - true_now()) < MOMENT


def test_servers_with_wrong_clocks_deliver_and_agree_on_keys(agent: Agent, key: ApiKey) -> None:
    """The real server runs in two processes, ten minutes ahead and ten behind."""
    works, ended = minted(agent, minutes=5), minted(agent, minutes=-5)
    with (
        served("asgi", WAKE_TEST_CLOCK_AHEAD="600") as ahead,
        served("wsgi", WAKE_TEST_CLOCK_AHEAD="-600") as behind,
    ):
        for origin, other in ((ahead, behind), (behind, ahead)):
            asked = true_now()
            url, body = f"{origin}/wake/v1/deliver", works.payload(timeout_seconds=60)
            delivered = httpx.post(url, headers=works.headers, json=body)
            assert delivered.status_code == 201, delivered.text
            created_at = datetime.fromisoformat(delivered.json()["created_at"])
            assert abs(created_at - asked) < MOMENT
            pk = delivered.json()["delivery_id"]
            for server in (origin, other):
                answer = httpx.get(f"{server}/wake/v1/response/{pk}", headers=works.headers)
                assert (answer.status_code, answer.json()["expired"]) == (200, False)
                refused = httpx.get(f"{server}/wake/v1/responses", headers=ended.headers)
                assert refused.status_code == 401
