"""Streams meet the requirements of A2A, as a client sees them. Section numbers refer to 1.0."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.relay.conformance.caller import Caller

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc"),
    pytest.mark.once,  # the server brings its own database
    pytest.mark.system,
]
SEND = {"1.0": "SendStreamingMessage", "0.3": "message/stream"}
SUBSCRIBE = {"1.0": "SubscribeToTask", "0.3": "tasks/resubscribe"}


@pytest.fixture(params=["1.0", "0.3"])
def either(request: pytest.FixtureRequest, caller: Caller, older: Caller) -> Caller:
    return caller if request.param == "1.0" else older


def kind_of(result: Any) -> str:
    if "kind" in result:
        return str(result["kind"])
    (name,) = result
    older = {"statusUpdate": "status-update", "artifactUpdate": "artifact-update"}
    return older.get(name, str(name))


def change_of(result: Any) -> Any:
    return result if "kind" in result else next(iter(result.values()))


def state_of(result: Any) -> str:
    state = str(change_of(result)["status"]["state"])
    return state.removeprefix("TASK_STATE_").lower().replace("_", "-")


def begin(caller: Caller, message_id: str = "tck-input-required") -> str:
    """Sends a message whose task stays open, and returns the id of the task."""
    task = caller.send(message_id)
    return str((task.get("task") or task)["id"])


def test_a_stream_begins_with_the_task_and_ends_with_it(either: Caller) -> None:
    """3.1.2 and 3.5.2 want the order in which the events were generated."""
    sent = either.sending("tck-stream-steps")

    first, *rest = either.stream(SEND[either.version], sent)

    assert kind_of(first) == "task"
    kinds = [kind_of(one) for one in rest]
    assert kinds[-2:] == ["artifact-update", "status-update"]
    assert set(kinds[:-2]) == {"status-update"}
    assert state_of(rest[-1]) == "completed"
    says = [change_of(one)["status"].get("message") for one in rest[:-2]]
    texts = [message["parts"][0]["text"] for message in says if message]
    assert texts == ["Step 1", "Step 2", "Step 3"]
    assert {change_of(one)["taskId"] for one in rest} == {change_of(first)["id"]}
    if either.version == "0.3":
        finals = [one["final"] for one in rest if one["kind"] == "status-update"]
        assert finals == [False] * (len(finals) - 1) + [True]


def test_or_it_is_one_message(either: Caller) -> None:
    sent = either.sending("tck-message-response")

    for _ in range(10):
        only, *rest = either.stream(SEND[either.version], sent)
        if not rest:
            break
        # On a busy machine, the command took longer than the stream waits before it sends the task.
        assert kind_of(only) == "task"

    assert rest == []
    assert kind_of(only) == "message"
    assert change_of(only)["parts"][0]["text"] == "Direct message response"


def test_an_artifact_comes_in_chunks(either: Caller) -> None:
    """4.2.2."""
    sent = either.sending("tck-stream-artifact-chunked")

    results = list(either.stream(SEND[either.version], sent))

    chunks = [change_of(one) for one in results if kind_of(one) == "artifact-update"]
    assert [chunk["artifact"]["parts"][0]["text"] for chunk in chunks] == ["chunk-1 ", "chunk-2"]
    assert [chunk.get("append", False) for chunk in chunks] == [False, True]
    assert [chunk.get("lastChunk", False) for chunk in chunks] == [False, True]
    task = either.result(
        "GetTask" if either.version == "1.0" else "tasks/get", {"id": chunks[0]["taskId"]}
    )
    (artifact,) = task["artifacts"]
    assert [part["text"] for part in artifact["parts"]] == ["chunk-1 ", "chunk-2"]


def test_a_subscription_to_what_is_not_there_or_over(either: Caller) -> None:
    """3.1.6."""
    ended = begin(either, "tck-complete-task")

    assert either.error(SUBSCRIBE[either.version], {"id": "tck-nonexistent"})["code"] == -32001
    assert either.error(SUBSCRIBE[either.version], {"id": ended})["code"] == -32004


def test_every_subscription_gets_the_same_events_and_one_may_close(either: Caller) -> None:
    """3.5.2."""
    task_id = begin(either)
    streams = [either.stream(SUBSCRIBE[either.version], {"id": task_id}) for _ in range(3)]
    firsts = [next(stream) for stream in streams]
    streams[0].close()

    with ThreadPoolExecutor() as threads:
        rests = [threads.submit(list, stream) for stream in streams[1:]]
        either.send("tck-complete-task", taskId=task_id)
        second, third = (rest.result() for rest in rests)

    assert firsts[0] == firsts[1] == firsts[2]
    assert [kind_of(first) for first in firsts] == ["task"] * 3
    assert second == third
    assert state_of(second[-1]) == "completed"
    assert len(second) == len({change_of(one)["metadata"]["wakeGeneration"] for one in second})
