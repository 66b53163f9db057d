"""The jobs of the relay start while they have rows."""

from __future__ import annotations

from collections.abc import Callable

from django.utils import timezone

from accounts.models import ApiKey
from relay.models import CallerKey, Card, Event, Task
from relay.protocol.dialects import PushIn
from relay.tasks import lost_runs, push_queue, pushes, unanswered
from tests.fixtures.due_jobs import jobs_with_rows
from tests.relay.calling import move
from tests.relay.fake_connector import FakeConnector, after, ask

PUSH, LEASE = "relay.jobs.queue_due_pushes", "relay.jobs.expire_leases"
UNANSWERED = "relay.jobs.go_on_unanswered"


def test_a_push(card: Card, caller_key: CallerKey) -> None:
    at = timezone.now()
    task = ask(card, caller_key, at=at)
    pushes.create(task, PushIn("c-0", "https://c0.example.com/"), at=at)
    move(str(task.pk), Task.State.WORKING)
    due = after(1)
    assert Event.objects.with_due_pushes(due).exists()

    assert PUSH in jobs_with_rows(due)
    push_queue.queue_due(at=due)
    assert PUSH not in jobs_with_rows(due)


def test_a_run_of_a_connector(card: Card, caller_key: CallerKey, key: ApiKey) -> None:
    ask(card, caller_key)
    before = jobs_with_rows(after(1))
    FakeConnector(key).run()

    assert LEASE not in before
    assert LEASE in jobs_with_rows(after(1))
    lost_runs.expire_leases(at=after(61))
    assert LEASE not in jobs_with_rows(after(61))


def test_a_question_that_no_person_answers(end: Callable[..., Task]) -> None:
    hints = {"timeout_seconds": 60, "assumption": "I take Europe.", "on_timeout": "proceed"}
    end("input_required", text="Which market?", **hints)

    assert UNANSWERED not in jobs_with_rows(after(50))
    assert UNANSWERED in jobs_with_rows(after(63))
    unanswered.continue_unanswered(at=after(63))
    assert UNANSWERED not in jobs_with_rows(after(63))
