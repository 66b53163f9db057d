"""Checks the extension with which an agent takes a delivery back."""

from __future__ import annotations

import uuid

from wake_check.checks.answers import rejected
from wake_check.checks.expect import expect_error, expect_member, expect_status, expect_time
from wake_check.checks.registry import judges
from wake_check.exchanges import Exchange
from wake_check.run import Run, Steps
from wake_check.verdicts import Broken

REASON = {"reason": "Found it."}


@judges("extension-withdraw")
def withdraw(run: Run) -> None:
    delivery_id = run.deliver(what="is withdrawn").members["delivery_id"]
    first = expect_status(run.server.post(f"withdraw/{delivery_id}", REASON), 200)
    expect_member(first, "delivery_id", delivery_id)
    expect_member(first, "status", "withdrawn")
    expect_member(first, "reason", REASON["reason"])
    expect_time(first, "withdrawn_at", first.members.get("withdrawn_at"))
    again = expect_status(run.server.post(f"withdraw/{delivery_id}"), 200, why="the same again")
    if again.members != first.members:
        raise Broken("A repeated request does not return the first withdrawal.", again)
    unknown = run.server.post(f"withdraw/{uuid.uuid4()}")
    expect_status(unknown, 404, why="the delivery does not exist")


@judges("extension-withdrawn-at")
def withdrawn_at(run: Run) -> None:
    delivery_id = run.deliver(what="is withdrawn, and polled").members["delivery_id"]
    before = run.poll(delivery_id)
    if "withdrawn_at" in before.members:
        raise Broken("A delivery that is not withdrawn has `withdrawn_at`.", before)
    withdrawn = _withdrawn(run, delivery_id)
    poll = run.poll(delivery_id)
    expect_member(poll, "status", "pending")
    expect_member(poll, "withdrawn_at", withdrawn.members.get("withdrawn_at"))


def _withdrawn(run: Run, delivery_id: str) -> Exchange:
    return expect_status(run.server.post(f"withdraw/{delivery_id}"), 200)


@judges("extension-withdraw-answered")
def answered_is_not_withdrawn(run: Run) -> Steps:
    episode = rejected(run)
    yield run.until(lambda: episode.is_over)
    episode.answer()
    refused = run.server.post(f"withdraw/{episode.delivery_id}")
    expect_error(refused, 409, "already_answered", why="the delivery is answered")
    expect_member(run.poll(episode.delivery_id), "status", "rejected")
