"""Connectors, callers, people and jobs act concurrently on one task, on separate connections."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest

from accounts.models import ApiKey, User
from database.idempotency import Idempotency
from relay.models import CallerKey, Card, Message, Run, Task
from relay.tasks import lifecycle, lost_runs, reports, sending
from tests.relay.fake_connector import T0, FakeConnector, after, ask, now
from tests.stress.concurrency.threads import at_once
from wake.models import Delivery, Response
from wake.responses import AlreadyAnswered, release, respond

pytestmark = pytest.mark.django_db(transaction=True)
State = Task.State


def test_connectors_that_poll_concurrently_get_each_run_once(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connectors = [FakeConnector(key, capacity=3) for _ in range(4)]
    for _ in range(8):
        ask(card, caller_key)

    looks: list[Callable[[], list[str]]] = [
        lambda connector=connector: [frame["dispatch_id"] for frame in connector.look()]  # type: ignore[misc]
        for connector in connectors
    ]
    run_ids = at_once(*looks)

    runs = [run for one in run_ids for run in one]
    assert len(runs) == len(set(runs)) == card.max_concurrency


def test_one_idempotency_key_at_once_is_one_task(card: Card, caller_key: CallerKey) -> None:
    once = Idempotency("retry", "hash")

    tasks = at_once(*[lambda: ask(card, caller_key, idempotency=once).pk for _ in range(6)])

    assert len(set(tasks)) == Task.objects.count() == Run.objects.count() == 1


def test_one_result_at_once_counts_once(card: Card, caller_key: CallerKey, key: ApiKey) -> None:
    connector = FakeConnector(key)
    task = ask(card, caller_key)
    connector.run()
    run = Run.objects.get()
    assert run.lease is not None
    lease, result = run.lease, {"state": "completed", "text": "Ten."}

    taken = at_once(*[lambda: reports.finish(run, lease, result, at=after(1)) for _ in range(4)])

    assert sorted(taken) == [False, False, False, True]
    assert Message.objects.filter(task=task, source="agent").count() == 1


def test_a_result_at_the_end_of_its_lease_is_stored_or_run_again(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    task = ask(card, caller_key)
    connector.run()
    run = Run.objects.get()
    assert run.lease is not None
    lease, lapsed = run.lease, T0 + timedelta(seconds=61)

    taken, lost = at_once(
        lambda: int(reports.finish(run, lease, {"state": "completed"}, at=lapsed)),
        lambda: lost_runs.expire_leases(at=lapsed),
    )

    assert taken + lost == 1
    run.refresh_from_db()
    ends = {1: (State.COMPLETED, "done"), 0: (State.SUBMITTED, "queued")}
    assert (now(task).state, run.state) == ends[taken]


def test_an_approval_during_a_cancellation_leaves_a_canceled_task(
    card: Card, caller_key: CallerKey, key: ApiKey, alice: User
) -> None:
    """The approval and the cancellation do not deadlock, and whichever comes first counts."""
    connector = FakeConnector(key, capacity=10)
    for _ in range(5):
        task = ask(card, caller_key)
        connector.end(connector.run(), "input_required", text="Which market?")
        delivery = Delivery.objects.get(task_delivery__task=task)
        held = respond(
            delivery, by=alice, status="approved", content_hash=delivery.content_hash, at=after(1)
        )
        assert isinstance(held, Response)

        at_once(
            lambda held=held: release(  # type: ignore[misc]
                Response.objects.select_related("delivery__agent").get(pk=held.pk), at=after(2)
            ),
            lambda task=task: lifecycle.cancel(  # type: ignore[misc]
                task, by=sending.caller_actor(caller_key), at=after(2)
            ),
        )

        assert now(task).state == State.CANCELED
        assert connector.look(at=after(3)) == []


def test_two_people_who_answer_at_once_start_one_run(
    card: Card, caller_key: CallerKey, key: ApiKey, alice: User, bob: User
) -> None:
    """The first answer counts, and the agent receives one decision."""
    people = {"approved": alice, "redirected": bob}
    connector = FakeConnector(key, capacity=10)
    for _ in range(5):
        task = ask(card, caller_key)
        connector.end(connector.run(), "input_required", text="Which market?")
        delivery = Delivery.objects.get(task_delivery__task=task)

        outcomes = at_once(
            *[partial(_answer, delivery, by, status) for status, by in people.items()]
        )

        assert sorted(outcomes) == ["AlreadyAnswered", "released"]
        winner = list(people)[outcomes.index("released")]
        run = Run.objects.exclude(decision_json="").get(task=task)
        assert run.decision is not None
        assert (run.decision["status"], now(task).state) == (winner, State.SUBMITTED)
        assert Message.objects.filter(task=task, source="owner").count() == 1
        connector.end(connector.run(at=after(3)), "completed", at=after(3))


def _answer(delivery: Delivery, by: User, status: str) -> str:
    """Answers as the inbox does, and ends the hold in the same moment."""
    hash_, words = delivery.content_hash, "Norway."
    try:
        response = respond(
            delivery, by=by, status=status, content_hash=hash_, feedback=words, at=after(1)
        )
        assert isinstance(response, Response)
    except AlreadyAnswered:
        return "AlreadyAnswered"
    release(Response.objects.select_related("delivery__agent").get(pk=response.pk), at=after(2))
    return "released"
