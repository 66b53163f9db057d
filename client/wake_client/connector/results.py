"""Reads a command's stdout as the result of its run."""

from __future__ import annotations

import json
import re
from typing import Any

# The states that an agent may set (A2A, "Task Lifecycle"). People and callers set the others.
STATES = {"completed", "input_required", "auth_required", "failed", "rejected"}
# These fields, beside the state, are sent to the relay unchanged.
FIELDS = (
    "message",
    "text",
    "artifacts",
    "direct",
    "timeout_seconds",
    "assumption",
    "on_timeout",
    "priority",
    "quorum",
    "irreversible",
)

OBJECT = re.compile(r"^\{", re.MULTILINE)
# Look at this many objects from the end, since each may be long.
MAX_OBJECTS = 1_000
# Matches an object that is cut off, or that Python printed instead of JSON.
ATTEMPT = re.compile(r"""^\{\s*["']state["']\s*:""", re.MULTILINE)
UNREADABLE = "The agent's command printed a result that is not valid JSON."

Outcome = dict[str, Any]


def read(output: bytes, exit_code: int, result_file: bytes = b"") -> Outcome:
    """Returns the outcome of a command with this output and exit status.

    The contract is a JSON object with a `state`: `{state, message{role, parts}}` or `{state,
    text}`, optionally with the other FIELDS. The object is the content of the file that
    WAKEUP_RESULT names. If that file is empty, the result is the last such object on stdout that
    starts a line, because libraries print warnings to stdout. Other output is the text of a
    completed task, unless the command seems to have tried to print such an object.

    A command that exits with a status other than 0 has failed. The output of such a command is sent
    only if the output itself says `failed`, because the output of a crash is not meant for the
    caller.
    """
    text = (result_file or output).decode("utf-8", "replace").strip()
    answer = _contract(text)
    if exit_code:
        if answer is None or answer.get("state") != "failed":
            return failed(f"The agent's command ended with status {exit_code}.", exit_code)
    elif answer is None:
        if ATTEMPT.search(text):
            return failed(UNREADABLE, 0)
        return {"state": "completed", "text": text, "exit_code": 0}
    state = str(answer["state"]).replace("-", "_")
    if state not in STATES:
        return failed("The agent's command answered with an unknown state.", exit_code)
    fields = {name: answer[name] for name in FIELDS if answer.get(name) is not None}
    return {"state": state, **fields, "exit_code": exit_code}


def failed(reason: str, exit_code: int | None = None) -> Outcome:
    """Returns a failed outcome. The caller reads the reason, so the reason must say nothing about
    this machine."""
    status = {} if exit_code is None else {"exit_code": exit_code}
    return {"state": "failed", "text": reason, **status}


# Sent instead of a result that cannot be delivered to the relay, or that the relay refuses.
# Journals of version 0.1 contain the same texts.
NOT_DELIVERED = failed(
    "The agent's answer did not reach the server. It is kept on the agent's machine."
)
TOO_LARGE = failed("The agent's answer is larger than the relay takes. It is kept on its machine.")
SUBSTITUTES = (NOT_DELIVERED, TOO_LARGE)


def _contract(text: str) -> dict[str, Any] | None:
    """Returns the last JSON object with a state at the start of a line."""
    decoder = json.JSONDecoder()
    begins = [begin.start() for begin in OBJECT.finditer(text)]
    for begin in reversed(begins[-MAX_OBJECTS:]):
        try:
            answer, _ = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            continue
        if "state" in answer:
            return dict(answer)
    return None
