"""A task whose question no person answers in time goes on as its agent planned."""

from __future__ import annotations

from collections.abc import Callable

from accounts.models import ApiKey
from relay.models import Task
from relay.tasks import unanswered
from tests.relay.fake_connector import FakeConnector, after
from tests.relay.tasks.test_task_deliveries import newest
from tests.types import MakeRule
from wake.models import Delivery


def test_an_unanswered_task_continues_with_its_assumption_and_no_approval(
    end: Callable[..., Task], key: ApiKey
) -> None:
    hints = {"timeout_seconds": 60, "assumption": "I take Europe.", "on_timeout": "proceed"}
    task = end("input_required", text="Which market?", **hints)

    assert unanswered.continue_unanswered(at=after(61)) == 0
    assert unanswered.continue_unanswered(at=after(63)) == 1
    assert unanswered.continue_unanswered(at=after(64)) == 0

    task.refresh_from_db()
    assert task.state == Task.State.SUBMITTED
    (frame,) = FakeConnector(key, at=after(65)).look(at=after(65))
    assert frame["decision"]["status"] == "timed_out"
    assert frame["decision"]["feedback"] == "I take Europe."
    assert not Delivery.objects.unanswered().exists()


def test_an_unanswered_task_fails_if_its_agent_asked_to_stop(end: Callable[..., Task]) -> None:
    hints = {"timeout_seconds": 60, "on_timeout": "abort"}
    task = end("input_required", text="Delete the branch?", **hints)

    unanswered.continue_unanswered(at=after(63))

    task.refresh_from_db()
    assert task.state == Task.State.FAILED
    assert newest().headline.startswith("No one answered in time")


def test_an_unanswered_task_without_a_plan_keeps_waiting(end: Callable[..., Task]) -> None:
    task = end("input_required", text="Which market?", timeout_seconds=60)

    assert newest().on_timeout == "hold"  # people read what really happens
    assert unanswered.continue_unanswered(at=after(days=9)) == 0
    assert Task.objects.get(pk=task.pk).state == Task.State.INPUT_REQUIRED


def test_a_rule_makes_a_task_wait_that_meant_to_continue(
    end: Callable[..., Task], make_rule: MakeRule
) -> None:
    make_rule(role="owner", must_wait=True, at=after(0.25))
    task = end("input_required", text="Which?", timeout_seconds=60, on_timeout="proceed")

    assert unanswered.continue_unanswered(at=after(days=9)) == 0

    assert Task.objects.get(pk=task.pk).state == Task.State.INPUT_REQUIRED
    assert newest().on_timeout == "hold"
