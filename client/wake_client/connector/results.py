"""What a command said on stdout, as the result of its run."""

from __future__ import annotations

import json
from typing import Any

# What an agent may make of its task (A2A, "Task Lifecycle"); the other states are not its to set.
STATES = {"completed", "input_required", "auth_required", "failed", "rejected"}
# Passed on as they are, beside the state.
PASSED_ON = (
    "message",
    "text",
    "artifacts",
    "direct",
    "timeout_seconds",
    "assumption",
    "on_timeout",
)

Outcome = dict[str, Any]


def read(output: bytes, exit_code: int) -> Outcome:
    """An object with a `state` is the contract: `{state, message{role, parts}}` or `{state, text}`,
    with `artifacts`, `direct`, `timeout_seconds`, `assumption` and `on_timeout` where they are
    given. Whatever else was printed is a text, and the task completed.

    A command that ended with another status than 0 has failed, whatever it says; its own words go
    with that only where it said `failed` itself, because what a crash leaves on stdout was not
    meant for the caller.
    """
    text = output.decode("utf-8", "replace").strip()
    said = _contract(text)
    if exit_code:
        if said is None or said.get("state") != "failed":
            return failed(f"The agent's command ended with status {exit_code}.", exit_code)
    elif said is None:
        return {"state": "completed", "text": text, "exit_code": 0}
    state = str(said["state"]).replace("-", "_")
    if state not in STATES:
        return failed("The agent's command named a state that there is not.", exit_code)
    passed_on = {name: said[name] for name in PASSED_ON if said.get(name) is not None}
    return {"state": state, **passed_on, "exit_code": exit_code}


def failed(why: str, exit_code: int | None = None) -> Outcome:
    """`why` is for the caller: it says nothing of this machine."""
    ended = {} if exit_code is None else {"exit_code": exit_code}
    return {"state": "failed", "text": why, **ended}


# In place of a result that does not get through to the relay, and of one that it does not take.
UNTOLD = failed("The agent's answer did not reach the server. It is kept on the agent's machine.")
TOO_MUCH = failed("The agent's answer is larger than the relay takes. It is kept on its machine.")
STAND_INS = (UNTOLD, TOO_MUCH)


def _contract(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return said if "state" in said else None
