"""Two machines of one agent, of which the first was lost and comes back: what its connector says,
as the relay takes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from accounts.models import ApiKey
from relay import expiry
from relay.dispatches import LEASE
from relay.models import CallerKey, Card, Dispatch, Task
from tests.relay.machine import Frame, Machine, after, ask
from wake_client.connector.command import Command
from wake_client.connector.connector import Connector
from wake_client.connector.journal import Journal

LAPSED = LEASE.total_seconds() + 1


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal") as journal:
        yield journal


def started_anew(journal: Journal) -> Connector:
    return Connector(Command(["true"], {}), journal, capacity=1, machine="laptop")


def comes_back(connector: Connector, key: ApiKey, *, seconds: float) -> Machine:
    said = {name: told for name, told in connector.hello().items() if name != "type"}
    machine = Machine(key, at=after(seconds), **said)
    connector.resume(machine.welcome)
    return machine


def tells(connector: Connector, machine: Machine, *, seconds: float) -> list[Frame]:
    """What the relay answers to all that the connector has to say now."""
    answers = [
        answer
        for frame in connector.unsent()
        for answer in machine.session.receive(frame, at=after(seconds))
    ]
    for answer in answers:
        connector.take(answer)
    return answers


@pytest.mark.parametrize("is_there", [True, False])
def test_the_first_comes_back_after_its_run_went_to_the_second(
    card: Card, caller_key: CallerKey, key: ApiKey, journal: Journal, is_there: bool
) -> None:
    """Also where the second is not heard of right then: the lease of now is not the first one's."""
    task = ask(card, caller_key)
    old = Machine(key, machine="laptop").run()
    journal.finish(old["dispatch_id"], old["lease_id"], {"state": "completed", "text": "Old."})
    expiry.expire_leases(at=after(LAPSED))
    second = Machine(key, machine="studio", at=after(LAPSED))
    new = second.run(at=after(LAPSED))

    connector = started_anew(journal)
    seconds = LAPSED + (1 if is_there else 50)
    first = comes_back(connector, key, seconds=seconds)
    (refused,) = tells(connector, first, seconds=seconds)

    assert refused["code"] == "lease_lost"
    assert journal.unconfirmed() == []
    assert Dispatch.objects.get().connector == second.row
    assert second.end(new, "completed", text="New.", at=after(seconds + 1))[0]["type"] == "done"
    assert Task.objects.get(pk=task.pk).state == Task.State.COMPLETED


def test_the_first_comes_back_before_anybody_else_was_given_its_run(
    card: Card, caller_key: CallerKey, key: ApiKey, journal: Journal
) -> None:
    """Under another name, while its connection of before still looks alive."""
    task = ask(card, caller_key)
    run = Machine(key, machine="7c1f").run()
    journal.finish(run["dispatch_id"], run["lease_id"], {"state": "completed", "text": "Done."})

    connector = started_anew(journal)
    machine = comes_back(connector, key, seconds=5)
    assert Dispatch.objects.get().connector == machine.row
    (done,) = tells(connector, machine, seconds=6)

    assert done == {"type": "done", "dispatch_id": run["dispatch_id"]}
    assert journal.unconfirmed() == []
    assert Task.objects.get(pk=task.pk).state == Task.State.COMPLETED


def test_a_run_that_the_agent_has_not_got_is_set_aside_at_once(
    card: Card, key: ApiKey, journal: Journal
) -> None:
    """As of another agent, or of a database that was restored to a day before it."""
    gone = {"dispatch_id": "6f1f4a9e-2a55-4f4b-8b0a-000000000001", "lease_id": "x"}
    journal.finish(gone["dispatch_id"], gone["lease_id"], {"state": "completed", "text": "Red."})
    connector = started_anew(journal)

    machine = comes_back(connector, key, seconds=0)
    (refused,) = tells(connector, machine, seconds=1)

    assert (refused["code"], refused["dispatch_id"]) == ("unknown_run", gone["dispatch_id"])
    assert journal.unconfirmed() == []
    assert journal.result(gone["dispatch_id"]) == {"state": "completed", "text": "Red."}
    assert tells(connector, machine, seconds=2) == []
