"""Deliveries and responses are counted once, from their events."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts.log import sweep
from accounts.models import User
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.answering_rules import run_rules
from tests.types import Answer, MakeAnsweringRule, MakeDelivery
from wake.models import Delivery, EventCounts, Response
from wake.models.picking_up import mark_picked_up
from wake.responses import release, respond
from wake.server.metrics import figures
from wake.server.metrics.counting import count_new


def count() -> tuple[dict[str, int], dict[str, int]]:
    """Counts what happened so far. Returns deliveries by type, and responses."""
    sweep.append_new(at=timezone.now())
    count_new()
    counts = EventCounts.objects.get()
    return counts.deliveries, counts.responses


@pytest.fixture
def begun(db: None) -> None:
    count()
    EventCounts.objects.update(deliveries={}, responses={})


@pytest.mark.django_db
def test_counters_whose_row_is_lost_begin_again(make_delivery: MakeDelivery) -> None:
    make_delivery()
    count()
    EventCounts.objects.all().delete()

    assert count() == ({}, {})

    make_delivery()

    assert count() == ({"output": 1}, {})


def test_each_delivery_is_counted_once(begun: None, make_delivery: MakeDelivery) -> None:
    for type in ("question", "question", "update"):
        make_delivery(type=type)

    first, second = count(), count()

    assert first == second == ({"question": 2, "update": 1}, {})


def test_a_response_is_counted_when_its_agent_picks_it_up(
    begun: None, caller: AgentClient, answer: Answer, make_delivery: MakeDelivery
) -> None:
    polled, swept, held = caller.deliver(), caller.deliver(), caller.deliver()
    answer(polled)
    caller.poll(polled)
    caller.poll(polled)
    answer(swept, "rejected")
    caller.sweep()
    answer(held, held=True)

    deliveries, responses = count()

    assert deliveries == {"output": 3}
    assert responses == {"approved poll person": 1, "rejected sweep person": 1}


def test_a_rule_and_several_people_decide(
    begun: None,
    make_delivery: MakeDelivery,
    make_answering_rule: MakeAnsweringRule,
    alice: User,
    bob: User,
) -> None:
    at = timezone.now()
    of_two = make_delivery(quorum=2)
    for person in (alice, bob):
        row = Delivery.objects.get(pk=of_two.pk)
        respond(row, by=person, status="approved", content_hash=row.content_hash, at=at)
    make_answering_rule(on=True, at=at)
    make_delivery(at=at)
    run_rules(at=at)
    responses = Response.objects.select_related("delivery__agent")
    for response in responses:
        release(response, at=at)
    mark_picked_up([response.pk for response in responses], route="webhook", at=at)

    _, counted = count()

    assert counted == {"approved webhook people": 1, "approved webhook rule": 1}


def test_many_events_are_counted_in_parts(begun: None, make_delivery: MakeDelivery) -> None:
    for _ in range(5):
        make_delivery()
    sweep.append_new(at=timezone.now())

    assert count_new(at_once=2) == 5
    assert EventCounts.objects.get().deliveries == {"output": 5}


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer")
def test_two_workers_count_nothing_twice(make_delivery: MakeDelivery) -> None:
    count()
    for _ in range(20):
        make_delivery()
    sweep.append_new(at=timezone.now())

    def work() -> None:
        while count_new(at_once=3):
            pass
        connection.close()

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    count_new()

    assert EventCounts.objects.get().deliveries == {"output": 20}


def test_the_counts_are_figures(begun: None, caller: AgentClient, answer: Answer) -> None:
    sent = caller.deliver(type="question")
    answer(sent)
    caller.poll(sent)
    count()

    read: dict[str, Any] = {figure.name: values for figure, values in figures.read_all().items()}

    assert read["wake_deliveries_total"] == {
        **{("output",): 0, ("question",): 1, ("update",): 0, ("alert",): 0}
    }
    assert read["wake_responses_total"] == {("approved", "poll", "person"): 1}
