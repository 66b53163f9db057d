"""A follower reads each agent's deliveries in the order of their commits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import Agent, ApiKey
from database.clock import EPOCH
from database.follower import MAX_ROWS, MAX_SOURCES, RETRY_AFTER, ReadPlan, follow
from inbox.models import NotedUntil
from tests.fixtures.agent_client import AgentClient
from tests.stress.concurrency.threads import at_once
from wake.models import Delivery, TriedUntil

pytestmark = pytest.mark.django_db(transaction=True)
on_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has one writer at a time"
)


class Reader:
    """Follows all agents, and keeps the ids of their deliveries."""

    def __init__(
        self,
        places: Any = TriedUntil,
        *,
        since: datetime = EPOCH,
        max_sources: int = MAX_SOURCES,
        max_rows: int = MAX_ROWS,
    ) -> None:
        self.places, self.since = places, since
        self.max_sources, self.max_rows = max_sources, max_rows
        self.ids: list[str] = []
        self.failing: Collection[str] = ()
        self.before_work: Callable[[], object] = lambda: None

    def read(self, *, at: datetime | None = None) -> int:
        return follow(
            Agent.objects.all(),
            self.places,
            self._begin,
            what="test words",
            at=at or timezone.now(),
            max_sources=self.max_sources,
            max_rows=self.max_rows,
        )

    def _begin(self, agent: Agent, place: object) -> ReadPlan[Delivery]:
        modes = [Delivery.objects.of_agent(agent, mode) for mode in ApiKey.Mode.values]
        return ReadPlan(modes, self._work, since=self.since)

    def _work(self, rows: Sequence[Delivery]) -> None:
        self.before_work()
        ids = [str(row.pk) for row in rows]
        if set(ids) & set(self.failing):
            raise ValueError("This row fails.")
        self.ids += ids


def test_rows_are_read_once_in_the_order_of_their_stamps(
    caller: AgentClient, in_test_mode: AgentClient
) -> None:
    ids = [caller.deliver(), in_test_mode.deliver(), caller.deliver()]
    reader = Reader()

    assert reader.read() == 3
    assert reader.read() == 0
    ids.append(in_test_mode.deliver())
    assert reader.read() == 1

    assert reader.ids == ids


def test_more_rows_than_a_batch_are_read_in_turns(
    caller: AgentClient,
) -> None:
    ids = [caller.deliver() for _ in range(3)]
    reader = Reader(max_rows=2)

    assert [reader.read() for _ in range(3)] == [2, 1, 0]
    assert reader.ids == ids


def test_two_jobs_keep_their_own_places(caller: AgentClient) -> None:
    first, second = Reader(), Reader(NotedUntil)
    caller.deliver()
    first.read()
    caller.deliver()

    assert (first.read(), second.read()) == (1, 2)


def test_rows_from_before_a_job_had_work_are_left_out(caller: AgentClient) -> None:
    caller.deliver()
    reader = Reader(since=Delivery.objects.get().activity_at)
    later = caller.deliver()

    assert reader.read() == 1
    assert reader.ids == [later]


def test_a_row_that_is_committed_late_is_not_missed(
    caller: AgentClient, others: AgentClient
) -> None:
    reader = Reader()
    is_stored, is_over = threading.Event(), threading.Event()
    ids: list[str] = []

    def deliver_slowly() -> None:
        with transaction.atomic():
            ids.append(caller.deliver())
            is_stored.set()
            is_over.wait(0.5 if connection.vendor == "sqlite" else 30)

    def deliver_meanwhile() -> None:
        assert is_stored.wait(30)
        ids.append(caller.deliver())  # waits until the other delivery is committed

    def read_meanwhile() -> None:
        assert is_stored.wait(30)
        reader.read()
        is_over.set()

    at_once(deliver_slowly, deliver_meanwhile, read_meanwhile)
    ids.append(others.deliver())
    while reader.read():
        pass

    assert sorted(reader.ids) == sorted(ids)
    assert [pk for pk in reader.ids if pk != ids[2]] == ids[:2]


def test_a_row_that_fails_is_left_out_and_named_if_others_succeed(
    caller: AgentClient, caplog: pytest.LogCaptureFixture
) -> None:
    first, bad, last = caller.deliver(), caller.deliver(), caller.deliver()
    reader = Reader()
    reader.failing = [bad]

    assert reader.read() == 3

    assert reader.ids == [first, last]
    assert reader.read() == 0
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage() == f"Left out of test words, because it failed: {bad}"


def test_a_row_that_fails_alone_is_tried_again_a_minute_later(
    caller: AgentClient, others: AgentClient
) -> None:
    bad, good = caller.deliver(), others.deliver()
    reader, now = Reader(), timezone.now()
    reader.failing = [bad]

    assert reader.read(at=now) == 1
    assert reader.ids == [good]
    assert reader.read(at=now) == 0
    reader.failing = ()
    assert reader.read(at=now + RETRY_AFTER - timedelta(seconds=1)) == 0
    assert reader.read(at=now + RETRY_AFTER) == 1

    assert reader.ids == [good, bad]


def test_failing_agents_leave_room_for_the_others(caller: AgentClient, others: AgentClient) -> None:
    bad, good = caller.deliver(), others.deliver()
    reader, now = Reader(max_sources=1), timezone.now()
    reader.failing = [bad]

    assert [reader.read(at=now), reader.read(at=now)] == [0, 1]
    assert reader.ids == [good]


def test_where_every_row_fails_none_is_left_out(caller: AgentClient) -> None:
    ids = [caller.deliver(), caller.deliver()]
    reader, now = Reader(), timezone.now()
    reader.failing = ids

    assert reader.read(at=now) == 0
    reader.failing = ()
    reader.read(at=now + RETRY_AFTER)

    assert reader.ids == ids


def test_two_workers_at_once_read_each_row_once(caller: AgentClient, others: AgentClient) -> None:
    ids = [sender.deliver() for _ in range(5) for sender in (caller, others)]
    reader = Reader()

    at_once(reader.read, reader.read, reader.read)
    while reader.read():
        pass

    assert sorted(reader.ids) == sorted(ids)


@on_postgresql
def test_a_second_worker_waits_for_no_agent_of_the_first(
    caller: AgentClient, others: AgentClient
) -> None:
    first, second = Reader(), Reader()
    caller.deliver()
    is_working, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        is_working.set()
        assert is_over.wait(30)

    first.before_work = hold

    def work_beside() -> None:
        assert is_working.wait(30)
        others.deliver()
        assert second.read() == 1
        is_over.set()

    at_once(first.read, work_beside)

    assert len(first.ids) == len(second.ids) == 1
