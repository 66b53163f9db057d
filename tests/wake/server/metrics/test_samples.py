"""Figures of the last 24 hours are kept, a row for every five minutes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from accounts.log import sweep
from accounts.models import Team
from tests.types import Answer, MakeDelivery
from wake.models import Callback, ServerSample
from wake.server.metrics import samples
from wake.server.metrics.counting import count_new

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def test_there_is_one_row_for_five_minutes() -> None:
    for minutes in range(12):
        samples.keep(at=NOON + minutes * MINUTE)

    kept = ServerSample.objects.order_by("at").values_list("at", flat=True)
    assert list(kept) == [NOON, NOON + 5 * MINUTE, NOON + 10 * MINUTE]


def test_rows_are_removed_after_24_hours() -> None:
    at = NOON
    for _ in range(300):
        samples.keep(at=at)
        at += samples.INTERVAL

    last = at - samples.INTERVAL
    kept = list(ServerSample.objects.order_by("at").values_list("at", flat=True))
    assert len(kept) == 288
    assert (kept[0], kept[-1]) == (last - timedelta(hours=24) + samples.INTERVAL, last)


def test_a_row_has_what_happened_and_what_waits(
    make_delivery: MakeDelivery, answer: Answer, team: Team
) -> None:
    sweep.append_new(at=timezone.now())
    count_new()
    make_delivery()
    make_delivery()
    now = timezone.now()
    for due_at in (now - timedelta(seconds=90), now + timedelta(hours=1), None):
        response = answer(make_delivery())
        Callback.objects.create(
            response=response, agent=response.delivery.agent, team=team, body=b"", due_at=due_at
        )
    sweep.append_new(at=now)
    count_new()

    samples.keep(at=now)

    row = ServerSample.objects.get()
    assert (row.deliveries, row.pending_deliveries) == (5, 2)
    assert (row.waiting_callbacks, row.suspended_callbacks) == (2, 1)
    assert 90 <= row.seconds_overdue < 100


def test_two_workers_store_the_same_five_minutes_once(make_delivery: MakeDelivery) -> None:
    samples.keep(at=NOON)
    make_delivery()
    samples.keep(at=NOON + MINUTE)

    assert ServerSample.objects.get().pending_deliveries == 0
