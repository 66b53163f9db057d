"""When a send returns: with the answer, or with the task as it is by then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from django.utils import timezone

from accounts.models import ApiKey
from relay import wire
from tests.relay.calling import Caller, State
from tests.relay.machine import Machine

Meanwhile: TypeAlias = Callable[[Callable[[], Any]], list[float]]
SEND = {"1.0": "SendMessage", "0.3": "message/send"}


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """What happens while a send waits: once, and then nothing any more. The seconds it slept."""

    def happens(what: Callable[[], Any]) -> list[float]:
        slept: list[float] = []

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            if len(slept) == 1:
                what()

        monkeypatch.setattr("wake.waiting.time.sleep", sleep)
        return slept

    return happens


def running(key: ApiKey, state: str, **result: Any) -> Callable[[], None]:
    """A machine that is there from now on, and what it does of the one task when it gets to it."""
    machine = Machine(key, at=timezone.now())

    def run() -> None:
        at = timezone.now()
        machine.end(machine.run(at=at), state, at=at, **result)

    return run


def test_a_blocking_send_waits_for_the_answer(
    either: Caller, key: ApiKey, meanwhile: Meanwhile
) -> None:
    slept = meanwhile(running(key, "completed", text="Done."))

    task = either.send()

    assert len(slept) == 1
    assert wire.read_state(task["status"]["state"]) == State.COMPLETED
    assert task["status"]["message"]["parts"][0]["text"] == "Done."
    assert [each["parts"][0]["text"] for each in task["history"]] == ["Hello"]


def test_or_for_a_question(either: Caller, key: ApiKey, meanwhile: Meanwhile) -> None:
    meanwhile(running(key, "input_required", text="Which?"))

    state = either.send()["status"]["state"]

    assert state == ("TASK_STATE_INPUT_REQUIRED" if either.version == "1.0" else "input-required")


def test_or_for_a_message_that_is_all_the_answer(
    either: Caller, key: ApiKey, meanwhile: Meanwhile
) -> None:
    meanwhile(running(key, "completed", text="42", direct=True))

    result = either.result(SEND[either.version], either.sending())

    message = result["message"] if either.version == "1.0" else result
    assert message["role"] == ("ROLE_AGENT" if either.version == "1.0" else "agent")
    assert message["parts"][0]["text"] == "42"
    assert message.get("kind") == (None if either.version == "1.0" else "message")


@pytest.mark.parametrize("at_once", [{"returnImmediately": True}, {"blocking": False}])
def test_a_send_that_does_not_wait(
    at_once: Any, either: Caller, key: ApiKey, meanwhile: Meanwhile
) -> None:
    Machine(key, at=timezone.now())
    slept = meanwhile(lambda: None)

    method = SEND[either.version]
    either.result(method, either.sending() | {"configuration": at_once})
    either.result(method, either.sending(), Prefer="wait=0")

    assert slept == []


def test_nobody_waits_for_a_machine_that_is_not_there(newer: Caller, meanwhile: Meanwhile) -> None:
    slept = meanwhile(lambda: None)

    task = newer.result("SendMessage", newer.sending(), Prefer="wait=30")["task"]

    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert slept == []


def test_who_hangs_up_finds_the_task_later(
    newer: Caller, key: ApiKey, meanwhile: Meanwhile
) -> None:
    def hang_up() -> None:
        raise SystemExit

    Machine(key, at=timezone.now())
    meanwhile(hang_up)

    with pytest.raises(SystemExit):
        newer.send(contextId="talk")

    listed = newer.result("ListTasks", {"contextId": "talk"})
    assert listed["tasks"][0]["status"]["state"] == "TASK_STATE_SUBMITTED"
