"""Whose a run is, of two machines."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import ApiKey
from relay import expiry
from relay.dispatches import LEASE
from relay.models import CallerKey, Card, Dispatch, Task
from tests.relay.machine import Machine, after, ask

LAPSED = LEASE.total_seconds() + 1


def now(task: Task) -> Task:
    return Task.objects.select_related("status_message").get(pk=task.pk)


def said_last(task: Task) -> str:
    message = now(task).status_message
    return "" if message is None else message.parts[0]["text"]


def test_a_machine_that_comes_back_leaves_others_what_they_run_by_now(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    lost, other = Machine(key, machine="laptop"), Machine(key, machine="studio")
    task = ask(card, caller_key)
    old = lost.run()
    expiry.expire_leases(at=after(LAPSED))
    other.tell("heartbeat", dispatch_ids=[], at=after(LAPSED))
    new = other.run(at=after(LAPSED))

    back = Machine(key, at=after(70), **lost.said | {"last_dispatch_ids": [old["dispatch_id"]]})

    (refused,) = back.end(old, "completed", text="From the lost one.", at=after(71))
    assert (refused["code"], refused["dispatch_id"]) == ("lease_lost", old["dispatch_id"])
    other.tell("heartbeat", dispatch_ids=[new["dispatch_id"]], at=after(75))
    assert expiry.expire_leases(at=after(LAPSED + 70)) == 0
    other.end(new, "completed", text="From the new one.", at=after(LAPSED + 70))
    assert said_last(task) == "From the new one."


@pytest.mark.parametrize("names_the_lease", [True, False])
def test_a_lease_that_a_machine_names_is_its_own_whatever_it_is_called_now(
    card: Card, caller_key: CallerKey, key: ApiKey, names_the_lease: bool
) -> None:
    """A container that was started anew has another name, and its old connection may look alive."""
    ask(card, caller_key)
    frame = Machine(key, machine="7c1f").run()
    held: dict[str, Any] = {"last_dispatch_ids": [frame["dispatch_id"]]}
    if names_the_lease:
        held["last_lease_ids"] = [frame["lease_id"]]

    here = Machine(key, at=after(5), machine="e90a", **held)

    run = Dispatch.objects.get()
    assert (run.connector == here.row) is names_the_lease
    assert here.end(frame, "completed", at=after(6))[0]["type"] == "done"


def test_a_lease_that_another_machine_had_since_is_not_taken_up_again(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """Whoever came back would renew it for ever, and never be heard under its own."""
    lost = Machine(key, machine="laptop")
    task = ask(card, caller_key)
    old = lost.run()
    expiry.expire_leases(at=after(LAPSED))
    Machine(key, machine="studio", at=after(70)).run(at=after(70))
    held: dict[str, Any] = {"last_dispatch_ids": [old["dispatch_id"]]}
    held["last_lease_ids"] = [old["lease_id"]]

    back = Machine(key, at=after(150), **lost.said | held)
    back.tell("heartbeat", dispatch_ids=[old["dispatch_id"]], at=after(151))
    expiry.expire_leases(at=after(152))
    again = back.run(at=after(153))

    assert again["attempt"] == 3
    back.end(again, "completed", at=after(154))
    assert now(task).state == Task.State.COMPLETED
