"""The official SDKs, both generations in two languages, call an agent that is a shell command."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.relay.conformance.installed import command
from tests.relay.conformance.server import Relay
from tests.wake.callbacks.receiver import Received, Receiver
from tests.wake.server.up import eventually

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc"),
    pytest.mark.once,  # the server brings its own database
    pytest.mark.slow,
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
    "config": True,
    "credentials_told": False,
    "configs": ["mine"],
}


@pytest.mark.parametrize("peer", ["python_1_0", "python_0_3", "js_1_0", "js_0_3"])
def test_an_official_sdk_calls_an_agent(peer: str, relay: Relay, receiver: Receiver) -> None:
    caller = [*command(peer), relay.url, relay.caller_key, receiver.url, CREDENTIALS]

    done = subprocess.run(caller, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    task_id = seen.pop("pushed")
    is_1_0 = peer.endswith("1_0")
    assert seen == SEEN | ({"listed": True} if is_1_0 else {})
    push = eventually(lambda: _of_the_end(receiver.received, is_1_0=is_1_0))
    assert _task_of(push, is_1_0=is_1_0) == task_id
    assert push.headers["Authorization"] == f"Bearer {CREDENTIALS}"
    assert push.headers["X-A2A-Notification-Token"] == "a-token"


def _of_the_end(received: list[Received], *, is_1_0: bool) -> Received | None:
    """Returns the push about the completed task."""
    wanted = "TASK_STATE_COMPLETED" if is_1_0 else "completed"
    return next((each for each in received if _state_of(each, is_1_0=is_1_0) == wanted), None)


def _state_of(push: Received, *, is_1_0: bool) -> str | None:
    told = next(iter(push.json.values())) if is_1_0 else push.json
    status = told.get("status") or {}
    state: str | None = status.get("state")
    return state


def _task_of(push: Received, *, is_1_0: bool) -> str:
    told = next(iter(push.json.values())) if is_1_0 else push.json
    return str(told.get("taskId") or told["id"])
