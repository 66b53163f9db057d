"""A row at the head of a sweep may fail, or another transaction may hold it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import OperationalError, connection
from django.db.models import Model
from django.utils import timezone

from accounts.models import Agent, User
from database import sweeps
from inbox.models import Preferences, Searchable
from inbox.notifications import reminders
from inbox.search.index import index_new
from tests.database.locks import locked_elsewhere
from tests.fixtures.agent_client import AgentClient
from tests.types import Age, Answer, MakeDelivery
from wake.deadlines import time_out_overdue
from wake.models import Delivery, Response
from wake.responses import LOOK_AGAIN_AFTER, release_due

pytestmark = pytest.mark.django_db(transaction=True)
on_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite locks no single rows"
)


@pytest.fixture
def due(caller: AgentClient, others: AgentClient, answer: Answer, age: Age) -> list[str]:
    """Creates three due answers of one agent, and then one of another agent."""
    ids = [caller.deliver(), caller.deliver(), caller.deliver(), others.deliver()]
    for seconds, pk in zip((90, 80, 70, 60), ids, strict=True):
        answer(pk, held=True)
        age(pk, seconds=seconds)
    return ids


@contextmanager
def kept_empty(row: Model, column: str) -> Iterator[None]:
    """Makes the database refuse to write this column of this row while the body runs."""
    table, pk = row._meta.db_table, row.pk
    begin, end = {
        "postgresql": (
            f"ALTER TABLE {table} ADD CONSTRAINT kept CHECK (id <> '{pk}' OR {column} IS NULL)",
            f"ALTER TABLE {table} DROP CONSTRAINT kept",
        ),
        "sqlite": (
            f"CREATE TRIGGER kept BEFORE UPDATE OF {column} ON {table} WHEN NEW.id = '{pk.hex}'"
            " BEGIN SELECT RAISE(ABORT, 'kept'); END",
            "DROP TRIGGER kept",
        ),
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(begin)
    yield
    with connection.cursor() as cursor:
        cursor.execute(end)


def released() -> set[str]:
    rows = Response.objects.filter(responded_at__isnull=False)
    return {str(pk) for pk in rows.values_list("delivery", flat=True)}


@on_postgresql
def test_an_agent_whose_row_is_locked_stops_the_releases_of_no_other(
    due: list[str], caller: AgentClient
) -> None:
    now, began = timezone.now(), time.monotonic()

    with locked_elsewhere(Agent.objects.filter(pk=caller.key.agent_id)):
        count = release_due(at=now, at_once=2)
        took = time.monotonic() - began
        of_others = released()

    assert (count, of_others) == (1, {due[3]})
    assert took < 5, "It does not wait for the lock."
    assert [release_due(at=now, at_once=2) for _ in range(2)] == [2, 1]


@on_postgresql
def test_an_answer_that_is_locked_meanwhile_is_not_delayed(due: list[str]) -> None:
    now = timezone.now()

    with locked_elsewhere(Response.objects.filter(delivery_id=due[0])):
        assert release_due(at=now) == 3

    assert release_due(at=now) == 1


def test_an_agent_whose_answer_fails_stops_the_releases_of_no_other(
    due: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    failing, now = Response.objects.get(delivery_id=due[0]), timezone.now()

    with kept_empty(failing, "responded_at"):
        assert release_due(at=now) == 3

    assert released() == set(due[1:])
    failing.refresh_from_db()
    assert failing.release_at == now + LOOK_AGAIN_AFTER
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage().startswith("1 held answers failed")
    assert str(failing.pk) in record.getMessage()


def test_a_delivery_that_cannot_be_indexed_stops_the_search_of_no_other_agent(
    caller: AgentClient, others: AgentClient
) -> None:
    bad = caller.deliver()
    good = others.deliver()
    Delivery.objects.filter(pk=bad).update(details_json="by hand, and no JSON")

    assert index_new(at=timezone.now()) == 1

    assert [str(row.delivery_id) for row in Searchable.objects.all()] == [good]


@on_postgresql
def test_an_agent_whose_words_are_locked_stops_the_search_of_no_other(
    caller: AgentClient, others: AgentClient, answer: Answer
) -> None:
    first = caller.deliver()
    index_new(at=timezone.now())
    answer(first, "rejected", feedback="Less paprika.")
    second = others.deliver()

    with locked_elsewhere(Searchable.objects.filter(delivery_id=first)):
        assert index_new(at=timezone.now()) == 1

    assert Searchable.objects.filter(delivery_id=second).exists()
    assert index_new(at=timezone.now()) == 1
    assert "paprika" in Searchable.objects.get(delivery_id=first).words


@pytest.fixture
def people_to_remind(bob: User, alice: User, make_delivery: MakeDelivery) -> list[User]:
    """Returns people in the order of a sweep. Each person gets a reminder that an agent will soon
    continue without an answer."""
    people = sorted([alice, bob], key=lambda user: user.pk)
    for user in people:
        Preferences.objects.update_or_create(user=user, defaults={"wants_reminders": True})
    make_delivery(timeout_seconds=1800)
    return people


def test_a_failing_reminder_of_one_person_stops_no_other(
    people_to_remind: list[User], settings: Any
) -> None:
    settings.WAKE_SENDS_MAIL = True
    first, second = people_to_remind
    User.objects.filter(pk=first.pk).update(email="by hand\nand two lines@example.com")

    assert reminders.send_due() == 1

    assert [message.to for message in mail.outbox] == [[second.email]]


@on_postgresql
def test_a_locked_row_of_one_person_stops_no_other_reminder(
    people_to_remind: list[User], settings: Any
) -> None:
    settings.WAKE_SENDS_MAIL = True
    first, second = people_to_remind

    with locked_elsewhere(Preferences.objects.filter(user=first)):
        assert reminders.send_due() == 1

    assert [message.to for message in mail.outbox] == [[second.email]]
    assert reminders.send_due() == 1


def test_one_delivery_that_cannot_be_closed_leaves_the_others_closed(
    make_delivery: MakeDelivery,
) -> None:
    rows = [make_delivery(timeout_seconds=60) for _ in range(3)]
    late = rows[-1].created_at + timedelta(minutes=2)

    with kept_empty(rows[1], "timed_out_at"):
        closed = time_out_overdue(at=late)

    assert closed == 2
    assert Delivery.objects.get(timed_out_at__isnull=True) == rows[1]
    assert time_out_overdue(at=late) == 1


def test_a_sweep_ends_where_the_database_is_away() -> None:
    tried = []

    def work(number: int) -> int:
        tried.append(number)
        raise OperationalError("the connection is lost")

    with pytest.raises(OperationalError):
        sweeps.each([1, 2, 3], work, what="numbers")

    assert tried == [1]


def test_a_row_that_cannot_be_postponed_delays_no_other() -> None:
    def fail(number: int) -> int:
        if number == 1:
            raise ValueError(number)
        return number

    assert sweeps.each([1, 2, 3], fail, what="numbers", postpone=fail) == 5
