"""A digest survives a failing mail server, a dead worker and concurrent senders."""

from __future__ import annotations

import smtplib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, time, timedelta
from threading import Barrier
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection

from accounts.models import User
from inbox.models import Preferences
from inbox.notifications import digests
from inbox.notifications.digests import BACK_OFF, LEASE
from inbox.people.settings.preferences import change_preferences
from tests.inbox.notifications.times import utc
from tests.types import MakeDelivery, Prefer

NINE = utc("2026-11-02 09:00")  # a Monday
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


class BrokenServer(EmailBackend):
    """Imitates a mail server that refuses every mail with `error`."""

    error: Exception = smtplib.SMTPRecipientsRefused({})

    def send_messages(self, messages: Any) -> int:
        raise self.error


@pytest.fixture
def broken_mail(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
    def break_it(error: Exception) -> None:
        monkeypatch.setattr(BrokenServer, "error", error)
        settings.EMAIL_BACKEND = f"{__name__}.BrokenServer"

    return break_it


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
    broken_mail: Callable[[Exception], None],
    settings: Any,
) -> None:
    make_delivery(at=NINE)
    prefer(bob, due=NINE)
    works = settings.EMAIL_BACKEND
    broken_mail(error)

    at, waits = NINE, []
    for _ in BACK_OFF:
        assert send(at) == 0
        again = _row(bob).next_digest_at
        assert again is not None
        waits.append(again - at)
        at = again

    assert waits == BACK_OFF
    assert _row(bob).digest_error
    settings.EMAIL_BACKEND = works
    assert send(at) == 1
    assert (_row(bob).digest_failures, _row(bob).digest_error) == (0, "")
    assert _row(bob).next_digest_at == NINE + DAY


def test_after_the_last_attempt_a_digest_waits_for_its_next_regular_time(
    bob: User,
    prefer: Prefer,
    make_delivery: MakeDelivery,
    broken_mail: Callable[[Exception], None],
) -> None:
    make_delivery(at=NINE)
    prefer(bob, due=NINE, digest_failures=len(BACK_OFF))
    broken_mail(TimeoutError())

    send(NINE)

    assert _row(bob).next_digest_at == NINE + DAY


def test_a_mail_that_cannot_be_sent_delays_no_other(
    alice: User,
    bob: User,
    prefer: Prefer,
    make_delivery: MakeDelivery,
    broken_mail: Callable[[Exception], None],
) -> None:
    make_delivery(at=NINE)
    for user in (alice, bob):
        prefer(user, due=NINE)
    broken_mail(RuntimeError("a fault of ours"))

    send(NINE)

    assert {row.digest_error for row in Preferences.objects.all()} == {
        "Something went wrong on our side."
    }
    assert {row.next_digest_at for row in Preferences.objects.all()} == {NINE + BACK_OFF[0]}


def test_an_unavailable_server_costs_one_attempt_a_sweep(
    alice: User,
    bob: User,
    prefer: Prefer,
    make_delivery: MakeDelivery,
    broken_mail: Callable[[Exception], None],
) -> None:
    make_delivery(at=NINE)
    for user in (alice, bob):
        prefer(user, due=NINE)
    broken_mail(TimeoutError("timed out"))

    tried = []
    for _ in range(3):
        send(NINE)
        tried.append(Preferences.objects.filter(digest_failures=1).count())

    assert tried == [1, 2, 2]


def test_a_refused_mail_delays_no_other(
    alice: User,
    bob: User,
    prefer: Prefer,
    make_delivery: MakeDelivery,
    broken_mail: Callable[[Exception], None],
) -> None:
    make_delivery(at=NINE)
    for user in (alice, bob):
        prefer(user, due=NINE)
    broken_mail(smtplib.SMTPRecipientsRefused({"bob@example.com": (550, b"no such person")}))

    send(NINE)

    assert Preferences.objects.filter(digest_failures=1).count() == 2


def test_a_digest_of_a_killed_worker_is_sent_after_its_lease(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery
) -> None:
    make_delivery(at=NINE)
    prefer(bob, due=NINE)
    digests.claim(at=NINE)

    assert [send(NINE), send(NINE + LEASE)] == [0, 1]


def test_hours_changed_while_a_digest_is_sent_are_kept(
    bob: User, prefer: Prefer, make_delivery: MakeDelivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_delivery(at=NINE)
    prefer(bob, due=NINE)

    def change_meanwhile(*_: Any, **__: Any) -> None:
        change_preferences(bob, at=NINE, digest_at=time(17))

    monkeypatch.setattr("inbox.notifications.mail.send_digest", change_meanwhile)
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
