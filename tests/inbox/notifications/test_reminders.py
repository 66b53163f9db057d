"""A reminder before a deadline is sent to people who asked for it, even in quiet hours."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, time, timedelta
from threading import Barrier
from typing import Any

import pytest
from django.core import mail
from django.db import connection

from accounts.models import User
from inbox.models import Reminder
from inbox.notifications import reminders
from inbox.notifications.reminders import PAUSE
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.letters import failing_mail
from tests.inbox.notifications.times import utc
from tests.types import MakeDelivery, Prefer
from wake.models import Delivery

NINE = utc("2026-11-02 09:00")
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.fixture
def asked(bob: User, prefer: Prefer) -> User:
    """Gives Bob reminders and quiet hours all night."""
    prefer(bob, wants_reminders=True, quiet_from=time(20), quiet_until=time(12))
    return bob


def send(at: datetime) -> int:
    return reminders.send_due(clock=lambda: at)


def test_only_people_who_asked_get_a_reminder(bob: User, make_delivery: MakeDelivery) -> None:
    make_delivery(at=NINE, timeout_seconds=1800)

    assert send(NINE) == 0


def test_a_reminder_is_sent_once_in_the_last_hour_even_in_quiet_hours(
    asked: User, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE, timeout_seconds=3 * 3600, headline="Market report")

    sent = [send(NINE + 119 * MINUTE), send(NINE + 2 * HOUR), send(NINE + 150 * MINUTE)]

    assert sent == [0, 1, 0]
    (message,) = mail.outbox
    assert message.to == [asked.email]
    assert message.subject == "Wake: 1 agent continues without you within the hour"
    assert "goes ahead without you at 12:00" in message.body
    assert message.body.count("Market report") == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"on_timeout": "hold"},
        {"on_timeout": "abort"},
        {"type": "update"},
        {"timeout_seconds": None},
        {"timeout_seconds": 7200},
    ],
)
def test_only_agents_that_go_on_without_an_answer_within_the_hour_count(
    fields: dict[str, Any], asked: User, make_delivery: MakeDelivery
) -> None:
    make_delivery(**{"at": NINE, "timeout_seconds": 1800, **fields})

    assert send(NINE) == 0


def test_answered_passed_and_test_deliveries_do_not_count(
    asked: User,
    make_delivery: MakeDelivery,
    answer: Callable[..., object],
    in_test_mode: AgentClient,
) -> None:
    make_delivery(at=NINE - HOUR, timeout_seconds=1800)
    answer(make_delivery(at=NINE, timeout_seconds=1800), at=NINE)
    test_delivery = Delivery.objects.get(pk=in_test_mode.deliver(timeout_seconds=1800))

    assert send(NINE) == 0
    assert send(test_delivery.created_at) == 0


def test_a_reader_gets_no_reminder(
    rita: User, mallory: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE, timeout_seconds=1800)
    for user in (rita, mallory):
        prefer(user, wants_reminders=True)

    assert send(NINE) == 0


def test_reminders_of_a_busy_hour_are_combined(asked: User, make_delivery: MakeDelivery) -> None:
    for number in range(3):
        make_delivery(at=NINE, timeout_seconds=1800, headline=f"Early {number}")
    first = send(NINE)
    make_delivery(at=NINE + MINUTE, timeout_seconds=1800, headline="A little later")

    assert [first, send(NINE + MINUTE), send(NINE + PAUSE)] == [1, 0, 1]
    assert mail.outbox[0].body.count("Early") == 3
    assert "A little later" in mail.outbox[1].body
    assert "Early" not in mail.outbox[1].body


def test_a_mail_that_failed_is_tried_again_after_the_pause(
    asked: User, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE, timeout_seconds=1800)

    with failing_mail(ConnectionRefusedError()):
        assert send(NINE) == 0

    assert Reminder.objects.count() == 0
    assert [send(NINE + MINUTE), send(NINE + PAUSE)] == [0, 1]


@pytest.mark.django_db(transaction=True)
def test_concurrent_workers_send_a_reminder_once(asked: User, make_delivery: MakeDelivery) -> None:
    make_delivery(at=NINE, timeout_seconds=1800)
    together = Barrier(3)

    def work(_: int) -> int:
        try:
            together.wait(timeout=30)
            return send(NINE)
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(work, range(3))) == 1

    assert len(mail.outbox) == 1
