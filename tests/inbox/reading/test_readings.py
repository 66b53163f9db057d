"""The server records who has read a delivery, and when."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from inbox.models import Reading
from inbox.reading import readings
from inbox.reading.in_sight import first_opened
from tests.inbox.notifications.times import utc
from tests.types import MakeDelivery
from wake.models import Delivery

NOON = utc("2026-11-02 11:00")


def _read_by(user: User) -> set[Delivery]:
    rows = readings.with_reading(Delivery.objects.all(), user)
    return {row for row in rows if row.is_read}  # type: ignore[attr-defined]


def test_the_first_opening_is_stored(bob: User, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery()

    readings.mark_read(delivery, by=bob, at=NOON)
    readings.mark_read(delivery, by=bob, at=NOON + timedelta(hours=1))

    assert Reading.objects.get().opened_at == NOON


def test_opening_it_again_is_one_statement_and_no_row(
    bob: User, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    readings.mark_read(delivery, by=bob, at=NOON)

    with CaptureQueriesContext(connection) as queries:
        readings.mark_read(delivery, by=bob, at=NOON)

    assert len(queries) == 1
    assert Reading.objects.count() == 1


def test_a_delivery_opened_by_one_person_is_unread_for_the_others(
    alice: User, bob: User, make_delivery: MakeDelivery
) -> None:
    opened, closed = make_delivery(), make_delivery()
    readings.mark_read(opened, by=bob, at=NOON)

    assert _read_by(bob) == {opened}
    assert _read_by(alice) == set()
    assert closed not in _read_by(bob)


def test_it_can_be_marked_unread_again(alice: User, bob: User, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery()
    readings.mark_read(delivery, by=bob, at=NOON)
    readings.mark_read(delivery, by=alice, at=NOON)

    readings.mark_unread(delivery, by=bob, at=NOON)

    assert _read_by(bob) == set()
    assert _read_by(alice) == {delivery}


def test_the_first_opening_stays_after_the_unread_mark(
    bob: User, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    readings.mark_read(delivery, by=bob, at=NOON)

    readings.mark_unread(delivery, by=bob, at=NOON + timedelta(minutes=1))
    opened_while_unread = first_opened([delivery.pk], by=bob)
    readings.mark_read(delivery, by=bob, at=NOON + timedelta(hours=1))

    assert opened_while_unread == {delivery.pk: NOON}
    assert first_opened([delivery.pk], by=bob) == {delivery.pk: NOON}
    assert _read_by(bob) == {delivery}


@pytest.mark.django_db(transaction=True)
def test_two_tabs_that_open_it_at_once_are_one_reading(
    bob: User, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()

    def open_it(_: int) -> None:
        try:
            readings.mark_read(delivery, by=bob, at=NOON)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(open_it, range(8)))

    assert Reading.objects.count() == 1
