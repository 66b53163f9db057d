"""A new task has the same rows whether one statement or several steps store it. A message waits for
no other message (docs/decisions/0066-a-verb-is-told-once.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone

from accounts.models import AuditEvent
from database.compiled_queries import fields_of
from relay.models import CallerKey, Card, Run, Task
from relay.protocol.dialects import Incoming
from relay.runs import queue
from relay.tasks import sending, transitions
from relay.tasks.sending import AgentBusy
from relay.tasks.storing import storing
from tests.fixtures import wrapped
from tests.relay.many import queue_runs
from tests.types import UseSteps

pytestmark = pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL")

PATIENCE = 30
# These fields differ between tasks.
IDS = {"id", "task_id", "context_id", "message_id", "object_id"}
INCOMING = Incoming(
    message_id="m1",
    parts=[{"text": "Größer 🎉, 100 % and %s"}, {"data": {"z": [1.5, None]}}],
    metadata={"a": "ü"},
    reference_task_ids=["t1"],
    accepted_output_modes=["text/plain"],
    extensions=["urn:x"],
    request_metadata={"b": "ü"},
)


@pytest.fixture(autouse=True)
def compiled_again() -> Iterator[None]:
    yield
    storing.cache_clear()


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "encrypted"])
def test_both_ways_store_the_same(
    card: Card,
    caller_key: CallerKey,
    is_encrypted: bool,
    settings: Any,
    use_steps: UseSteps,
) -> None:
    settings.WAKE_ENCRYPT_CONTENT = is_encrypted
    at = timezone.now()

    first = sending.send(card, caller_key, INCOMING, address="192.0.2.1", hop=2, at=at)
    at_once = stored(first)
    use_steps()
    storing.cache_clear()
    second = sending.send(card, caller_key, INCOMING, address="192.0.2.1", hop=2, at=at)

    assert at_once == stored(second)


def stored(task: Task) -> list[dict[str, Any]]:
    """Returns the fields of all rows of a task, without the ids that differ."""
    rows: list[Model] = [
        task.context,
        Task.objects.get(pk=task.pk),
        task.messages.get(),
        task.runs.get(),
        task.events.get(),
        AuditEvent.objects.get(object_id=str(task.pk)),
    ]
    run, message = task.runs.get(), task.messages.get()
    assert run.message_id == message.pk
    assert message.context_id == task.context_id
    return [
        {
            field.attname: getattr(row, field.attname)
            for field in fields_of(type(row))
            if field.attname not in IDS
        }
        for row in rows
    ]


def test_a_new_task_is_one_statement(
    card: Card, caller_key: CallerKey, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(1):
        task = sending.send(card, caller_key, INCOMING, at=timezone.now())

    assert task.only_message == task.messages.get()


def test_a_queue_that_is_nearly_full_is_counted_under_the_lock(
    card: Card, caller_key: CallerKey
) -> None:
    def send() -> Task:
        return sending.send(card, caller_key, INCOMING, at=timezone.now())

    with wrapped.counted(queue, "wait_for_messages") as exact:
        first = send()
        queue_runs(first, queue.exact_count_from() - 2)
        send()
        assert len(exact) == 0
        send()
        assert len(exact) == 1
        queue_runs(first, queue.MAX_UNDER_WAY - 2)
        send()
        assert len(exact) == 2
        with pytest.raises(AgentBusy):
            send()

    assert len(exact) == 3


@pytest.mark.django_db(transaction=True)
def test_messages_do_not_wait_for_each_other_and_the_limit_is_exact(
    card: Card, caller_key: CallerKey
) -> None:
    """The first message has not committed. The third message waits for the first one, and is not
    stored."""
    before = sending.send(card, caller_key, INCOMING, at=timezone.now())
    queue_runs(before, queue.exact_count_from() - 2)

    with transaction.atomic():
        sending.send(card, caller_key, INCOMING, at=timezone.now())
        second = in_a_thread(lambda: sending.send(card, caller_key, INCOMING, at=timezone.now()))
        assert second.result(PATIENCE).only_message
        third = in_a_thread(lambda: sending.send(card, caller_key, INCOMING, at=timezone.now()))
        with pytest.raises(TimeoutError):
            third.result(0.5)
        queue_runs(before, queue.MAX_UNDER_WAY - 1)

    with pytest.raises(AgentBusy):
        third.result(PATIENCE)
    assert Task.objects.count() == 3
    assert Run.objects.count() == queue.MAX_QUEUE


@pytest.mark.django_db(transaction=True)
def test_a_message_does_not_wait_for_what_else_the_agent_does(
    card: Card, caller_key: CallerKey
) -> None:
    with transaction.atomic():
        transitions.lock_agent(card.agent)
        sent = in_a_thread(lambda: sending.send(card, caller_key, INCOMING, at=timezone.now()))

        assert sent.result(PATIENCE).messages.count() == 1


def in_a_thread(work: Callable[[], Task]) -> Future[Task]:
    """Runs the work on a connection of its own, which is closed afterwards."""

    def run() -> Task:
        try:
            return work()
        finally:
            connection.close()

    return ThreadPoolExecutor(1).submit(run)
