"""Defines the frames between connector and relay: JSON objects with a `type`.

The frames are the same over a WebSocket and over HTTP. On the wire, a run is called `dispatch`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PROTOCOL = 1

Frame = dict[str, Any]


class NotAFrame(Exception):
    """The relay sent a frame that cannot be read."""


@dataclass(frozen=True, slots=True)
class Run:
    """Describes one execution of the command for one task, leased to this connector.

    The same run may come again with another lease, if the relay does not know whether the run
    arrived.
    """

    run_id: str
    lease_id: str
    task_id: str
    context_id: str
    message_id: str
    message: dict[str, Any]
    messages: list[Any]
    decision: dict[str, Any] | None
    attempt: int
    timeout_seconds: float | None
    # None for an anonymous caller, and from a relay that is too old to send it.
    caller: dict[str, Any] | None = None
    accepted_output_modes: list[Any] = field(default_factory=list)
    reference_task_ids: list[Any] = field(default_factory=list)
    # The metadata of the caller's request, beside the message.
    metadata: dict[str, Any] = field(default_factory=dict)
    # The trace of the caller's request (W3C Trace Context), if it had one.
    traceparent: str = ""

    @classmethod
    def read(cls, frame: Frame) -> Run:
        """Reads a `task` frame. Raises NotAFrame."""
        try:
            timeout = frame.get("timeout_s")
            return cls(
                run_id=str(frame["dispatch_id"]),
                lease_id=str(frame["lease_id"]),
                task_id=str(frame["taskId"]),
                context_id=str(frame["contextId"]),
                message_id=str(frame["messageId"]),
                message=dict(frame["message"]),
                messages=list(frame.get("messages") or []),
                decision=frame.get("decision"),
                attempt=int(frame.get("attempt") or 1),
                timeout_seconds=float(timeout) if timeout else None,
                caller=frame.get("caller"),
                accepted_output_modes=list(frame.get("acceptedOutputModes") or []),
                reference_task_ids=list(frame.get("referenceTaskIds") or []),
                metadata=dict(frame.get("metadata") or {}),
                traceparent=str(frame.get("traceparent") or ""),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise NotAFrame(f"a task that cannot be read: {error!r}") from error


def hello(
    *, instance_id: str, machine: str, capacity: int, leases: dict[str, str], is_first: bool
) -> Frame:
    """Names this connector and its runs. If `is_first`, this is the first hello of the process, and
    all runs without a lease in `leases` ended with an earlier process.

    `leases` maps each run that is active, or whose result is unconfirmed, to its lease. The relay
    compares these leases to find runs that another connector now has.
    """
    return {
        "type": "hello",
        "protocol": PROTOCOL,
        "agents": [],  # the key says which agent this is
        "instance_id": instance_id,
        "machine": machine,
        "first": is_first,
        "capacity": capacity,
        "last_dispatch_ids": list(leases),
        "last_lease_ids": list(leases.values()),
    }


def ack(run: Run) -> Frame:
    """Reports that the run has started."""
    return {"type": "ack", "dispatch_id": run.run_id, "lease_id": run.lease_id}


def progress(run: Run, number: int, text: str) -> Frame:
    """Reports the progress of a run. `number` counts up within the run."""
    ids = {"dispatch_id": run.run_id, "lease_id": run.lease_id}
    return {"type": "progress", **ids, "n": number, "text": text}


def is_replaced(frame: Frame, progress: Frame) -> bool:
    """Returns whether the frame is an earlier progress text of the same run."""
    is_of_run = all(frame.get(name) == progress[name] for name in ("type", "dispatch_id"))
    return is_of_run and "text" in frame


def piece(run: Run, number: int, artifact: dict[str, Any]) -> Frame:
    """Sends a piece of an artifact. `number` counts up within the run."""
    ids = {"dispatch_id": run.run_id, "lease_id": run.lease_id}
    return {"type": "progress", **ids, "n": number, "artifact": artifact}


def result(run_id: str, lease_id: str, outcome: dict[str, Any]) -> Frame:
    """Sends an outcome of results.py: {state, message | text, artifacts, exit_code, ...}."""
    return {**outcome, "type": "result", "dispatch_id": run_id, "lease_id": lease_id}


def heartbeat(run_ids: list[str]) -> Frame:
    """Renews the leases of the runs with these ids."""
    return {"type": "heartbeat", "dispatch_ids": run_ids}


def drain() -> Frame:
    """Asks the relay to send no more tasks."""
    return {"type": "drain"}


def pong() -> Frame:
    return {"type": "pong"}
