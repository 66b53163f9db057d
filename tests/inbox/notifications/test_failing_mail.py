"""A digest survives a failing mail server, a dead worker and concurrent senders."""

from __future__ import annotations

import smtplib
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, time, timedelta
from threading import Barrier

import pytest
from django.core import mail
from django.db import connection

from accounts.models import User
from inbox.models import Preferences
from inbox.notifications import digests
from inbox.notifications import mail as digest_mails
from inbox.notifications.digests import BACK_OFF, LEASE
from inbox.preferences.preferences import change_preferences
from tests.fixtures import wrapped
from tests.fixtures.letters import failing_mail
from tests.inbox.notifications.times import utc
from tests.types import MakeDelivery, Prefer

NINE = utc("2026-11-02 09:00")  # a Monday
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def send(at: datetime) -> int:
    return digests.send_due(clock=lambda: at)


def _row(user: User) -> Preferences:
    return Preferences.objects.get(user=user)


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError("refused"),
        TimeoutError("timed out"),
        smtplib.SMTPDataError(451, b"x"),
    ],
)
def test_a_failing_mail_server_is_tried_less_and_less_often(
    error: Exception,
    bob: User,
    prefer: Prefer,
    make_delivery: MakeDelivery,
) -> None:
    make_delivery(at=NINE)
    prefer(bob, due=NINE)

    at, waits = NINE, []
    for _ in BACK_OFF:
        with failing_mail(error):
            assert send(at) == 0
        again = _row(bob).next_digest_at
        assert again is not None
        waits.append(again - at)
        at = again

    assert waits == BACK_OFF
    assert _row(bob).digest_error
    assert send(at) == 1
    assert (_row(bob).digest_failures, _row(bob).digest_error) == (0, "")
    assert _row(bob).next_digest_at == NINE + DAY


def test_after_the_last_attempt_a_digest_waits_for_its_next_regular_time(
    bob: User,
    prefer: Prefer,
    make_delivery: MakeDelivery,
) -> None:
    make_delivery(at=NINE)
    prefer(bob, due=NINE, digest_failures=len(BACK_OFF))

    with failing_mail(TimeoutError()):
        send(NINE)

    assert _row(bob).next_digest_at == NINE + DAY


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (RuntimeError("a fault of ours"), "Something went wrong on our side."),
        (
            smtplib.SMTPRecipientsRefused({"bob@example.com": (550, b"no such person")}),
            "no such person",
        ),
    ],
    ids=["a fault of ours", "refused"],
)
def test_a_mail_that_cannot_be_sent_delays_no_other(
    failure: Exception,
    error: str,
    alice: User,
    bob: User,
    prefer: Prefer,
    make_delivery: MakeDelivery,
) -> None:
    make_delivery(at=NINE)
    for user in (alice, bob):
        prefer(user, due=NINE)

    with failing_mail(failure):
        send(NINE)

    rows = Preferences.objects.all()
    assert [error in row.digest_error for row in rows] == [True, True]
    assert {row.next_digest_at for row in rows} == {NINE + BACK_OFF[0]}


def test_an_unavailable_server_costs_one_attempt_a_sweep(
    alice: User,
    bob: User,
    prefer: Prefer,
    make_delivery: MakeDelivery,
) -> None:
    make_delivery(at=NINE)
    for user in (alice, bob):
        prefer(user, due=NINE)

    tried = []
    for _ in range(3):
        with failing_mail(TimeoutError("timed out")):
            send(NINE)
        tried.append(Preferences.objects.filter(digest_failures=1).count())

    assert tried == [1, 2, 2]


def test_a_digest_of_a_killed_worker_is_sent_after_its_lease(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE)
    prefer(bob, due=NINE)
    digests.LEASE.claim(digests.due(NINE), at=NINE)

    assert [send(NINE), send(NINE + LEASE.length)] == [0, 1]


def test_hours_changed_while_a_digest_is_sent_are_kept(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE)
    prefer(bob, due=NINE)

    with wrapped.before(
        digest_mails, "send_digest", lambda: change_preferences(bob, at=NINE, digest_at=time(17))
    ):
        send(NINE)

    assert _row(bob).next_digest_at == NINE + 8 * HOUR


@pytest.mark.django_db(transaction=True)
def test_concurrent_workers_send_each_digest_once(
    alice: User, bob: User, rita: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE, type="update")
    for user in (alice, bob, rita):
        prefer(user, due=NINE)
    together = Barrier(4)

    def work(_: int) -> int:
        try:
            together.wait(timeout=30)
            return send(NINE)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        sent = list(pool.map(work, range(4)))

    assert sum(sent) == 3
    assert sorted(message.to[0] for message in mail.outbox) == [
        "alice@example.com",
        "bob@example.com",
        "rita@example.com",
    ]
