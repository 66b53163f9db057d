"""People, callers and deadlines that meet at one task in the same moment."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, Team, User
from relay import callers, lifecycle, unanswered
from relay.lifecycle import TaskIsTerminal
from relay.models import CallerKey, Card, Dispatch, Task
from relay.publishing import publish
from tests.concurrency.conftest import at_once
from tests.relay.machine import Machine, ask
from wake.deadlines import time_out_overdue
from wake.models import Delivery
from wake.responses import ContentChanged, release, respond

ROUNDS = 6
Act = Callable[[], Any]


def test_an_answer_a_cancel_a_message_and_the_deadline_meet(
    team: Team, agent: Agent, key: ApiKey, alice: User
) -> None:
    """Whatever is first: no lock waits for the other, and nobody's approval runs a task that was
    cancelled or has moved on."""
    card = publish(agent, by=SYSTEM, at=timezone.now())
    caller, _ = callers.mint(team, name="Build server", by=SYSTEM)
    for _ in range(ROUNDS):
        task = _waiting(card, caller, key)
        question = Delivery.objects.get(surfaced__task=task)
        late = timezone.now() + timedelta(seconds=61)

        at_once(
            partial(_quietly, partial(_answer, question, alice)),
            partial(_quietly, partial(lifecycle.cancel, task, by=SYSTEM, at=timezone.now())),
            partial(_quietly, partial(ask, card, caller, task_id=str(task.pk), at=timezone.now())),
            partial(_quietly, partial(unanswered.go_on, at=late)),
            partial(_quietly, partial(time_out_overdue, at=late)),
        )

        task.refresh_from_db()
        assert task.state == Task.State.CANCELED
        assert not Delivery.objects.unanswered().filter(surfaced__task=task).exists()
        assert not task.dispatches.filter(state=Dispatch.State.QUEUED).exists()


def _waiting(card: Card, caller: CallerKey, key: ApiKey) -> Task:
    """For an answer, for a minute."""
    at = timezone.now()
    task, machine = ask(card, caller, at=at), Machine(key, at=at)
    told = {"timeout_seconds": 60, "on_timeout": "proceed"}
    machine.end(machine.run(at=at), "input_required", text="Well?", at=at, **told)
    return task


def _answer(question: Delivery, by: User) -> None:
    content_hash = question.content_hash
    response = respond(question, by=by, status="approved", content_hash=content_hash)
    release(response, at=timezone.now())


def _quietly(act: Act) -> None:
    """The facts that may be in the way; any other failure is one."""
    with suppress(TaskIsTerminal, ContentChanged):
        act()
