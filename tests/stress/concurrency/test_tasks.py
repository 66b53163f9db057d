"""People, callers and deadlines change one task concurrently."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, Team, User
from relay.cards import callers
from relay.cards.publishing import publish
from relay.models import CallerKey, Card, Run, Task
from relay.tasks import lifecycle, unanswered
from relay.tasks.lifecycle import TaskIsTerminal
from tests.relay.fake_connector import FakeConnector, ask
from tests.stress.concurrency.threads import at_once
from wake.deadlines import time_out_overdue
from wake.models import Delivery, Response
from wake.responses import ContentChanged, release, respond

ROUNDS = 6
Act = Callable[[], Any]


def test_an_answer_a_cancel_a_message_and_the_deadline_meet(
    team: Team, agent: Agent, key: ApiKey, alice: User
) -> None:
    """In any order, the locks do not deadlock, and an approval runs no task that was cancelled or
    has another state by now."""
    card = publish(agent, by=SYSTEM, at=timezone.now())
    caller, _ = callers.mint(team, name="Build server", by=SYSTEM)
    for _ in range(ROUNDS):
        task = _waiting(card, caller, key)
        question = Delivery.objects.get(task_delivery__task=task)
        late = timezone.now() + timedelta(seconds=61)

        at_once(
            partial(_quietly, partial(_answer, question, alice)),
            partial(_quietly, partial(lifecycle.cancel, task, by=SYSTEM, at=timezone.now())),
            partial(_quietly, partial(ask, card, caller, task_id=str(task.pk), at=timezone.now())),
            partial(_quietly, partial(unanswered.continue_unanswered, at=late)),
            partial(_quietly, partial(time_out_overdue, at=late)),
        )

        task.refresh_from_db()
        assert task.state == Task.State.CANCELED
        assert not Delivery.objects.unanswered().filter(task_delivery__task=task).exists()
        assert not task.runs.filter(state=Run.State.QUEUED).exists()


def _waiting(card: Card, caller: CallerKey, key: ApiKey) -> Task:
    """Creates a task that waits for an answer for a minute."""
    at = timezone.now()
    task, connector = ask(card, caller, at=at), FakeConnector(key, at=at)
    hints = {"timeout_seconds": 60, "on_timeout": "proceed"}
    connector.end(connector.run(at=at), "input_required", text="Well?", at=at, **hints)
    return task


def _answer(question: Delivery, by: User) -> None:
    content_hash = question.content_hash
    response = respond(
        question, by=by, status="approved", content_hash=content_hash, at=timezone.now()
    )
    assert isinstance(response, Response)
    release(response, at=timezone.now())


def _quietly(act: Act) -> None:
    """Runs the act. The known exceptions may stop the act; any other failure fails the test."""
    with suppress(TaskIsTerminal, ContentChanged):
        act()
