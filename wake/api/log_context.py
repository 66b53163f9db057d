"""Keeps what is known about the current request or job, for all lines of the log that it causes.

The edge of the server begins the facts (wake/server/telemetry/request_log.py). Code that learns
more, such as the authentication, adds to them. Threads and tasks that a request starts see the same
facts.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Any
from uuid import UUID


@dataclass(slots=True)
class LogFacts:
    """Describes one request, or one job. Nothing here is content. `key` is the hint of a key, never
    the key. `team` is the team's number. `is_from_client` is True if the client chose the id."""

    request_id: str = ""
    is_from_client: bool = False
    # As traces.read() returns it (wake/callbacks/traces.py).
    traceparent: str = ""
    trace_id: str = ""
    route: str = ""
    job: str = ""
    key: str = ""
    team: int | None = None
    delivery_id: UUID | None = None

    def logged(self) -> dict[str, Any]:
        """Returns the known facts under the names that they have in the log."""
        facts = {
            "request_id": self.request_id,
            "trace_id": self.trace_id,
            "job": self.job,
            "delivery_id": self.delivery_id,
            "key": self.key,
            "team": self.team,
        }
        return {name: value for name, value in facts.items() if value}


_facts: ContextVar[LogFacts] = ContextVar("facts")


def begin(facts: LogFacts) -> Token[LogFacts]:
    """Makes these the current facts until `end`."""
    return _facts.set(facts)


def end(token: Token[LogFacts]) -> None:
    _facts.reset(token)


def current() -> LogFacts:
    """Returns the facts of the current request or job. Outside of both, they are soon forgotten."""
    return _facts.get(None) or LogFacts()


def clients_request_id() -> str:
    """Returns the id that the client sent with its request, or an empty text. An error repeats such
    an id in its body (docs/decisions/0087-requests-have-ids-and-traces.md)."""
    facts = current()
    return facts.request_id if facts.is_from_client else ""
