"""The official SDKs of both generations, each in two languages, call an agent that is a shell
command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.fixtures.peers import command
from tests.relay.conformance.line import Line
from tests.relay.conformance.server import Relay
from tests.wake.callbacks.receiver import Received, Receiver
from tests.wake.server.up import eventually

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc"),
    pytest.mark.once,  # the server brings its own database
    pytest.mark.system,
]

CREDENTIALS = "what-only-the-caller-knows"
SEEN = {
    "card": "@home/tck",
    "sent": "completed",
    "artifact": {"key": "value", "count": 42},
    "polled": "completed",
    "asked": "input_required",
    "answered": "completed",
    "canceled": "canceled",
    "direct": "Direct message response",
    "missing": True,
    "not_streamed": True,
    "config": True,
    "credentials_told": False,
    "configs": ["mine"],
}


PEERS = Path(__file__).parent / "peers"
NAMES = ["python_1_0", "python_0_3", "js_1_0", "js_0_3"]


@pytest.mark.parametrize("peer", NAMES)
def test_an_official_sdk_calls_an_agent(peer: str, relay: Relay, receiver: Receiver) -> None:
    caller = [*command(PEERS / peer), relay.url, relay.caller_key, receiver.url, CREDENTIALS]

    done = subprocess.run(caller, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr
    steps = json.loads(done.stdout)
    task_id = steps.pop("pushed")
    is_1_0 = peer.endswith("1_0")
    assert steps == SEEN | ({"listed": True} if is_1_0 else {})
    push = eventually(lambda: _of_the_end(receiver.received, is_1_0=is_1_0))
    assert _task_of(push, is_1_0=is_1_0) == task_id
    assert push.headers["Authorization"] == f"Bearer {CREDENTIALS}"
    assert push.headers["X-A2A-Notification-Token"] == "a-token"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("peer", NAMES)
def test_an_official_sdk_follows_a_task_through_the_death_of_the_server(
    peer: str, how: signal.Signals, relay: Relay
) -> None:
    """The server is killed, or restarted as in an upgrade. A kill and a restart both end the
    server's connections."""

    def end_the_server() -> None:
        for pid in relay.up.pids("granian"):
            os.kill(pid, how)

    follow(peer, relay.url, relay.caller_key, end_the_server)


@pytest.mark.parametrize("peer", NAMES)
def test_an_official_sdk_follows_a_task_through_a_cut_connection(peer: str, relay: Relay) -> None:
    with Line(relay.up.port) as line:
        url = relay.url.replace(str(relay.up.port), str(line.port))
        follow(peer, url, relay.caller_key, line.cut)


def follow(peer: str, url: str, key: str, cut: Callable[[], None]) -> None:
    """Lets an SDK follow a task whose stream is cut off after two events. The SDK gets each event
    once. Only the event with the current task may repeat the last one."""
    with subprocess.Popen(
        [*command(PEERS / peer, "follower"), url, key],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as follower:
        assert follower.stdout is not None
        lines = [follower.stdout.readline() for _ in range(2)]
        cut()
        try:
            rest, errors = follower.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            follower.kill()
            rest, errors = follower.communicate()
            pytest.fail(f"{peer} still follows the task: {lines} {rest} {errors}")
    events = [json.loads(line) for line in [*lines, *rest.splitlines()] if line]

    assert follower.returncode == 0, errors
    assert "cut off" in errors
    assert events[-1][2] == "completed"
    generations = [generation for kind, generation, _ in events if kind != "get"]
    snapshots = [number for number, event in enumerate(events) if event[0] == "task"]
    for before, after in pairwise(range(len(generations))):
        is_repeated = after in snapshots and generations[after] == generations[before]
        assert generations[after] > generations[before] or is_repeated, events
        if after not in snapshots:
            assert generations[after] == generations[before] + 1, events


def _of_the_end(received: list[Received], *, is_1_0: bool) -> Received | None:
    """Returns the push about the completed task."""
    wanted = "TASK_STATE_COMPLETED" if is_1_0 else "completed"
    return next((each for each in received if _state_of(each, is_1_0=is_1_0) == wanted), None)


def _state_of(push: Received, *, is_1_0: bool) -> str | None:
    pushes = next(iter(push.json.values())) if is_1_0 else push.json
    status = pushes.get("status") or {}
    state: str | None = status.get("state")
    return state


def _task_of(push: Received, *, is_1_0: bool) -> str:
    pushes = next(iter(push.json.values())) if is_1_0 else push.json
    return str(pushes.get("taskId") or pushes["id"])
