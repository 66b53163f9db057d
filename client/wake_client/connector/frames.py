"""What travels between connector and relay: JSON objects with a `type`, the same over a WebSocket
and over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PROTOCOL = 1

Frame = dict[str, Any]


class NotAFrame(Exception):
    """The relay sent something that this version does not understand."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One run of the command for one task. The same `dispatch_id` may come again, with another
    lease: then the relay could not tell whether the first was heard."""

    dispatch_id: str
    lease_id: str
    task_id: str
    context_id: str
    message_id: str
    message: dict[str, Any]
    messages: list[Any]
    decision: dict[str, Any] | None
    attempt: int
    timeout_s: float | None

    @classmethod
    def read(cls, frame: Frame) -> Dispatch:
        """Of a `task` frame. Raises NotAFrame."""
        try:
            timeout = frame.get("timeout_s")
            return cls(
                dispatch_id=str(frame["dispatch_id"]),
                lease_id=str(frame["lease_id"]),
                task_id=str(frame["taskId"]),
                context_id=str(frame["contextId"]),
                message_id=str(frame["messageId"]),
                message=dict(frame["message"]),
                messages=list(frame.get("messages") or []),
                decision=frame.get("decision"),
                attempt=int(frame.get("attempt") or 1),
                timeout_s=float(timeout) if timeout else None,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise NotAFrame(f"a task that cannot be read: {error!r}") from error


def hello(
    *, agents: list[str], instance_id: str, machine: str, capacity: int, holding: dict[str, str]
) -> Frame:
    """`holding`: dispatches that run here, or whose result the relay has not confirmed, each with
    its lease. By that the relay knows which of them another connector was given since."""
    return {
        "type": "hello",
        "protocol": PROTOCOL,
        "agents": agents,
        "instance_id": instance_id,
        "machine": machine,
        "capacity": capacity,
        "last_dispatch_ids": list(holding),
        "last_lease_ids": list(holding.values()),
    }


def ack(dispatch_id: str, lease_id: str) -> Frame:
    return {"type": "ack", "dispatch_id": dispatch_id, "lease_id": lease_id}


def progress(dispatch_id: str, lease_id: str, number: int, text: str) -> Frame:
    """`number` counts up within a run."""
    told = {"dispatch_id": dispatch_id, "lease_id": lease_id}
    return {"type": "progress", **told, "n": number, "text": text}


def result(dispatch_id: str, lease_id: str, outcome: dict[str, Any]) -> Frame:
    """`outcome`: {state, message | text, artifacts, exit_code, ...} (results.py)."""
    return {**outcome, "type": "result", "dispatch_id": dispatch_id, "lease_id": lease_id}


def heartbeat(dispatch_ids: list[str]) -> Frame:
    return {"type": "heartbeat", "dispatch_ids": dispatch_ids}


def drain() -> Frame:
    return {"type": "drain"}


def pong() -> Frame:
    return {"type": "pong"}
