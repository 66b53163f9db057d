"""Killing a connector in any state of a run loses no result and repeats no run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from accounts.agents import keys
from accounts.audit import SYSTEM
from accounts.models import ApiKey
from relay.models import CallerKey, Card, Event, Run, Task
from relay.runs.queue import MAX_ATTEMPTS
from tests.relay.fake_connector import FakeConnector, Frame, after, ask, now, of

State = Task.State


@dataclass(frozen=True)
class Kill:
    """Describes a run when its connector is killed: how far the run came, whether the connector's
    journal has a result, and how often the command starts in total."""

    came_to: str
    has_result: bool
    starts: int


# This is the state table. `starts` counts the run that was killed, if its command had begun.
KILLS = {
    "before it got the run": Kill("nothing", has_result=False, starts=1),
    "before the command began": Kill("got", has_result=False, starts=1),
    "while the command runs": Kill("began", has_result=False, starts=2),
    "after progress": Kill("progress", has_result=False, starts=2),
    "before it sent the result": Kill("began", has_result=True, starts=1),
    "before the result was confirmed": Kill("told", has_result=True, starts=1),
}


class Machine:
    """Imitates a machine with a connector, a journal that outlives the connector, and a command
    that counts its starts."""

    def __init__(self, key: ApiKey) -> None:
        self.key = key
        self.starts = 0
        self.seconds = 0
        self.connector = FakeConnector(key, first=True, machine="mill")
        self.instance = self.connector.said["instance_id"]

    def start_again(self, *owed: Frame) -> FakeConnector:
        said: dict[str, Any] = {
            "first": True,
            "machine": "mill",
            "instance_id": self.instance,
            "last_dispatch_ids": [frame["dispatch_id"] for frame in owed],
            "last_lease_ids": [frame["lease_id"] for frame in owed],
        }
        self.connector = FakeConnector(self.key, at=self.later(), **said)
        return self.connector

    def later(self) -> datetime:
        """Returns the next second: no lease has ended by then."""
        self.seconds += 1
        return after(self.seconds)

    def begin(self) -> Frame:
        frame = self.connector.run(at=self.later())
        self.starts += 1
        return frame

    def end(self, frame: Frame) -> None:
        (done,) = self.connector.end(frame, "completed", text="Done.", at=self.later())
        assert done["type"] == "done"


def as_far_as(machine: Machine, came_to: str) -> Frame | None:
    """Lets the run come to this state. Returns the frame of the run, if the connector received the
    frame."""
    if came_to == "nothing":
        return None
    if came_to == "got":
        (frame,) = machine.connector.look(at=machine.later())
        return frame
    frame = machine.begin()
    if came_to == "progress":
        machine.connector.send_frame("progress", **of(frame), n=1, text="Half.", at=machine.later())
    if came_to == "told":
        machine.end(frame)
    return frame


@pytest.mark.parametrize("is_rotated", [False, True])
@pytest.mark.parametrize("kill", KILLS.values(), ids=KILLS)
def test_each_result_is_told_once_and_each_command_started_as_often_as_promised(
    kill: Kill, is_rotated: bool, card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    task = ask(card, caller_key)
    machine = Machine(key)
    killed = as_far_as(machine, kill.came_to)
    if is_rotated:
        machine.key, _ = keys.mint(key.agent, by=SYSTEM)
        keys.revoke(key, by=SYSTEM, at=machine.later())

    if kill.has_result:
        assert killed is not None
        machine.start_again(killed)
        machine.end(killed)
    else:
        machine.start_again()
        machine.end(machine.begin())

    ended = now(task)
    assert ended.status_message is not None
    assert (ended.state, ended.status_message.parts) == (State.COMPLETED, [{"text": "Done."}])
    assert machine.starts == kill.starts
    assert Event.objects.filter(task=task, state=State.COMPLETED).count() == 1
    assert task.messages.filter(source="agent").exclude(parts_json__contains="Half").count() == 1
    assert machine.connector.look(at=machine.later()) == []


def test_a_run_that_kills_its_connector_each_time_fails_its_task(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    task = ask(card, caller_key)
    machine = Machine(key)
    for _ in range(MAX_ATTEMPTS):
        machine.begin()
        machine.start_again()

    assert now(task).state == State.FAILED
    assert machine.starts == MAX_ATTEMPTS
    assert not Run.objects.filter(task=task, state=Run.State.QUEUED).exists()
