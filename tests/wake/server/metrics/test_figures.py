"""The figures that all processes share come from few queries with limits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from accounts.log import sweep
from accounts.models import Team
from tests.types import Answer, MakeDelivery
from wake.models import Callback, FailingTarget
from wake.server.metrics import figures
from wake.server.metrics.figures import FRESH_SECONDS, Figure, Figures, Remembered

pytestmark = pytest.mark.django_db


def values() -> dict[str, dict[tuple[str, ...], float]]:
    return {figure.name: dict(read) for figure, read in figures.read_all().items()}


def test_an_empty_server_has_every_figure() -> None:
    read = values()

    assert read["wake_pending_deliveries"] == {(): 0}
    assert read["wake_callbacks"] == dict.fromkeys(
        [("due",), ("sending",), ("waiting",), ("suspended",)], 0
    )
    assert read["wake_queue_oldest_due_seconds"].keys() >= {
        *[("callbacks",), ("held_responses",), ("deadlines",), ("escalations",)],
        *[("log",), ("notifications",), ("slack_replies",), ("checkpoints",), ("pushes",)],
    }
    assert set(read["wake_queue_oldest_due_seconds"].values()) == {0}
    assert read["wake_suspended_targets"] == read["wake_connectors"] == {(): 0}


def test_deliveries_that_wait_are_counted(make_delivery: MakeDelivery) -> None:
    make_delivery()
    make_delivery(acknowledged_at=timezone.now())
    make_delivery()

    assert values()["wake_pending_deliveries"] == {(): 2}


def test_callbacks_are_counted_by_their_state(
    make_delivery: MakeDelivery, answer: Answer, team: Team
) -> None:
    now = timezone.now()
    soon = now + timedelta(minutes=5)
    for changes in (
        {"due_at": now - timedelta(seconds=90)},
        {"due_at": now - timedelta(seconds=30)},
        {"due_at": now - timedelta(seconds=30), "leased_until": soon},
        {"due_at": soon},
        {"due_at": None},
        {"due_at": None, "given_up_at": now},
        {"due_at": None, "delivered_at": now},
    ):
        response = answer(make_delivery())
        Callback.objects.create(
            response=response, agent=response.delivery.agent, team=team, body=b"", **changes
        )
    FailingTarget.objects.create(
        team=team, host="hooks.example.com", failing_since=now, suspended_at=now
    )

    read = values()

    assert read["wake_callbacks"] == {
        **{("due",): 2, ("sending",): 1, ("waiting",): 1, ("suspended",): 1}
    }
    assert read["wake_suspended_targets"] == {(): 1}
    assert 90 <= read["wake_queue_oldest_due_seconds"][("callbacks",)] < 120


def test_events_outside_of_the_log_are_counted(make_delivery: MakeDelivery) -> None:
    make_delivery()
    before = values()

    sweep.append_new(at=timezone.now())

    after = values()
    assert before["wake_audit_unchained_events"][()] >= 1
    assert before["wake_queue_oldest_due_seconds"]["log",] > 0
    assert after["wake_audit_unchained_events"] == {(): 0}
    assert after["wake_queue_oldest_due_seconds"]["log",] == 0


def test_a_figure_that_cannot_be_read_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    def fail(at: Any) -> Any:
        raise OperationalError("canceling statement due to statement timeout")

    one, other = Figure("wake_one", "", fail), Figure("wake_other", "", lambda at: {(): 2})

    read = figures.read_all([one, other])

    assert read == {other: {(): 2}}
    assert "wake_one" in caplog.text


def test_the_figures_are_remembered_for_a_few_seconds() -> None:
    reads: list[Figures] = []

    def read() -> Figures:
        reads.append({})
        return reads[-1]

    remembered = Remembered(read)

    first, second = remembered.get(now=10.0), remembered.get(now=10.0 + FRESH_SECONDS)
    third = remembered.get(now=10.1 + FRESH_SECONDS)

    assert (first is second, second is third, len(reads)) == (True, False, 2)
