"""Checks the declared fields of deliveries that the specification does not have."""

from __future__ import annotations

import uuid
from typing import Any

from wake_check.checks.expect import expect_member, expect_status
from wake_check.checks.registry import judges
from wake_check.run import Run

BLOCKS = {
    "wake_blocks": 1,
    "text": "Two prices are possible.",
    "blocks": [
        {"type": "markdown", "text": "Both **fit the plan**."},
        {"type": "table", "columns": ["Price", "Teams"], "rows": [["A", 301], ["B", 264]]},
        {"type": "no-such-block", "text": "An unknown block"},
        {"type": "choice", "options": "malformed"},
    ],
}


def _accepts(run: Run, field: str, *values: Any) -> None:
    for value in values:
        exchange = run.post(run.payload(**{field: value}, what=f"{field} is {str(value)[:12]}"))
        expect_status(exchange, 201, why=f"{field} is {str(value)[:60]!r}")


def _refuses(run: Run, field: str, *values: Any) -> None:
    for value in values:
        exchange = run.post(run.payload(**{field: value}))
        expect_status(exchange, 422, why=f"{field} is {str(value)[:60]!r}")


@judges("extension-assumption")
def assumption(run: Run) -> None:
    _refuses(run, "assumption", "a" * 2001, 17)
    _accepts(run, "assumption", "a" * 2000)


@judges("extension-on-timeout")
def on_timeout(run: Run) -> None:
    _refuses(run, "on_timeout", "explode", 1)
    _accepts(run, "on_timeout", "proceed", "abort")


@judges("extension-thread")
def thread(run: Run) -> None:
    _refuses(run, "thread", "t" * 129, 17)
    _accepts(run, "thread", "t" * 128)


@judges("extension-priority")
def priority(run: Run) -> None:
    _refuses(run, "priority", "urgent", 1)
    _accepts(run, "priority", "high")


@judges("extension-quorum")
def quorum(run: Run) -> None:
    _refuses(run, "quorum", 1, 6, "2")
    _accepts(run, "quorum", 2)


@judges("extension-supersedes")
def supersedes(run: Run) -> None:
    _refuses(run, "supersedes", str(uuid.uuid4()), "no-such-delivery", 17)
    _accepts(run, "supersedes", run.shared().members["delivery_id"])


@judges("extension-irreversible")
def irreversible(run: Run) -> None:
    proceed = run.payload(irreversible=True, on_timeout="proceed")
    expect_status(run.post(proceed), 422, why="irreversible with on_timeout proceed")
    _refuses(run, "irreversible", "yes")
    receipt = run.post(run.payload(irreversible=True, what="cannot be undone"))
    expect_status(receipt, 201)
    if "on_timeout" in run.extensions:
        expect_member(receipt, "on_timeout", "hold")


@judges("extension-wake-blocks")
def wake_blocks(run: Run) -> None:
    _accepts(run, "details", BLOCKS)
