"""A blocking send returns the answer, or the task in its current state."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from typing import Any, TypeAlias

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import ApiKey
from relay.models import Card, Task
from relay.protocol import dialects
from relay.tasks import lifecycle
from tests.fixtures.long_polls import Clock, wait_by
from tests.fixtures.occupied import occupied
from tests.relay.calling import Caller, State
from tests.relay.fake_connector import FakeConnector
from wake.api import long_poll

PATIENCE = 60.0
SEND = {"1.0": "SendMessage", "0.3": "message/send"}


class Held:
    """Replaces `time` while sends wait. The clock stands still until `over` is set.

    After that, each reading of the clock is later than the one before, so a send that only now
    begins to wait also ends.
    """

    def __init__(self) -> None:
        self.over = threading.Event()
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += PATIENCE * self.over.is_set()
        return self.now

    def pause(self, _: threading.Event, seconds: float) -> None:
        self.over.wait(PATIENCE)


Meanwhile: TypeAlias = Callable[[Callable[[], Any]], Clock]


@pytest.fixture(autouse=True)
def usual_wait(answered_at_once: None, settings: Any) -> None:
    settings.WAKE_A2A_WAIT_SECONDS = 4


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    def happens(what: Callable[[], Any]) -> Clock:
        clock = Clock(what)
        wait_by(clock, monkeypatch)
        return clock

    return happens


def nothing() -> None:
    """Does nothing during the wait."""


def running(key: ApiKey, state: str, **result: Any) -> Callable[[], None]:
    """Starts a connector and returns a function that ends its one run in this state."""
    connector = FakeConnector(key, at=timezone.now())

    def run() -> None:
        at = timezone.now()
        connector.end(connector.run(at=at), state, at=at, **result)

    return run


def test_a_blocking_send_waits_for_the_answer(
    either: Caller, key: ApiKey, meanwhile: Meanwhile
) -> None:
    clock = meanwhile(running(key, "completed", text="Done."))

    task = either.send()

    assert clock.waited == long_poll.STEP_SECONDS
    assert dialects.read_state(task["status"]["state"]) == State.COMPLETED
    assert task["status"]["message"]["parts"][0]["text"] == "Done."
    assert [each["parts"][0]["text"] for each in task["history"]] == ["Hello"]


def test_a_blocking_send_returns_with_a_question(
    either: Caller, key: ApiKey, meanwhile: Meanwhile
) -> None:
    meanwhile(running(key, "input_required", text="Which?"))

    state = either.send()["status"]["state"]

    assert state == ("TASK_STATE_INPUT_REQUIRED" if either.version == "1.0" else "input-required")


def test_a_blocking_send_returns_with_a_direct_message(
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
    FakeConnector(key, at=timezone.now())
    clock = meanwhile(nothing)

    method = SEND[either.version]
    either.result(method, either.sending() | {"configuration": at_once})
    either.result(method, either.sending(), Prefer="wait=0")

    assert clock.waited == 0


def test_a_send_returns_at_once_when_no_connector_is_online(
    newer: Caller, meanwhile: Meanwhile
) -> None:
    clock = meanwhile(nothing)

    task = newer.result("SendMessage", newer.sending(), Prefer="wait=30")["task"]

    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert clock.waited == 0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 4),
        ({"Prefer": "wait=10"}, 10),
        ({"Prefer": "respond-async, Wait = 2"}, 2),
        ({"Prefer": "wait=999999"}, 30),
        ({"Prefer": "wait=long"}, 4),
    ],
)
def test_a_blocking_send_waits_as_long_as_the_caller_asks(
    headers: Any, seconds: int, newer: Caller, key: ApiKey, meanwhile: Meanwhile
) -> None:
    FakeConnector(key, at=timezone.now())
    clock = meanwhile(nothing)

    task = newer.result("SendMessage", newer.sending(), **headers)["task"]

    assert clock.waited == seconds
    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"


@pytest.mark.parametrize(("ago", "seconds"), [(2.5, 1.5), (3.75, 0.25), (5.0, 0)])
def test_a_blocking_send_counts_its_wait_from_when_the_request_arrived(
    ago: float, seconds: float, newer: Caller, key: ApiKey, meanwhile: Meanwhile
) -> None:
    """The SDKs count the time in the same way. Under load, a request waits for a thread before its
    message is stored."""
    FakeConnector(key, at=timezone.now())
    clock = meanwhile(nothing)
    newer.client.defaults[long_poll.ARRIVED] = str(-ago)

    newer.send()

    assert clock.waited == seconds


def test_when_too_many_callers_wait_a_send_returns_at_once(
    newer: Caller, key: ApiKey, meanwhile: Meanwhile
) -> None:
    FakeConnector(key, at=timezone.now())
    clock = meanwhile(nothing)

    with occupied(long_poll._places):
        newer.send()

    assert clock.waited == 0


def test_waiting_callers_leave_room_for_agents_and_connectors(
    newer: Caller, key: ApiKey, meanwhile: Meanwhile
) -> None:
    FakeConnector(key, at=timezone.now())
    waited = meanwhile(nothing)
    newer.send()
    assert waited.waited > 0

    with occupied(lifecycle._places):
        before = waited.waited
        newer.send()

    assert waited.waited == before


@pytest.mark.django_db(transaction=True)
def test_many_waiting_callers_leave_threads_for_others(
    card: Card, caller_key: Any, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight callers come at once, and only the allowed number waits. The others immediately get an
    answer with the task, and can read the task again."""
    clock = Held()
    wait_by(clock, monkeypatch)
    FakeConnector(key, at=timezone.now())

    def send() -> dict[str, Any]:
        try:
            return Caller(card, "1.0", caller_key.text).send()
        finally:
            connection.close()

    with (
        occupied(long_poll._places, leaving=4),
        occupied(lifecycle._places, leaving=2),
        ThreadPoolExecutor(8) as threads,
    ):
        crowd = [threads.submit(send) for _ in range(8)]
        try:
            answered = [each.result() for each in islice(as_completed(crowd, PATIENCE), 6)]
            waits = [each for each in crowd if not each.done()]
            if has_room := long_poll._places.acquire(blocking=False):
                long_poll._places.release()
        finally:
            clock.over.set()

    assert len(waits) == 2
    assert has_room, "Agents that poll for their answers still find a place."
    assert {task["status"]["state"] for task in answered} == {"TASK_STATE_SUBMITTED"}
    ids = {task["id"] for task in answered} | {each.result()["id"] for each in waits}
    assert ids == {str(pk) for pk in Task.objects.values_list("pk", flat=True)}
    assert len(ids) == 8


def test_a_caller_that_hangs_up_finds_the_task_later(
    newer: Caller, key: ApiKey, meanwhile: Meanwhile
) -> None:
    def hang_up() -> None:
        raise SystemExit

    FakeConnector(key, at=timezone.now())
    meanwhile(hang_up)

    with pytest.raises(SystemExit):
        newer.send(contextId="talk")

    listed = newer.result("ListTasks", {"contextId": "talk"})
    assert listed["tasks"][0]["status"]["state"] == "TASK_STATE_SUBMITTED"
