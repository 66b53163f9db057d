"""One of two connectors of an agent is lost and returns. The relay reads frames that a real
connector writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from accounts.models import ApiKey
from relay.models import CallerKey, Card, Run, Task
from relay.runs.queue import LEASE
from relay.tasks import lost_runs
from tests.relay.fake_connector import FakeConnector, Frame, after, ask
from wake_client.connector.command import Command
from wake_client.connector.connector import Connector
from wake_client.connector.journal import Journal

LAPSED = LEASE.total_seconds() + 1


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal") as journal:
        yield journal


def restarted(journal: Journal) -> Connector:
    return Connector(Command(["true"], {}), journal, capacity=1, machine="laptop")


def comes_back(connector: Connector, key: ApiKey, *, seconds: float) -> FakeConnector:
    hello = {name: value for name, value in connector.hello().items() if name != "type"}
    fake = FakeConnector(key, at=after(seconds), **hello)
    connector.resume(fake.welcome)
    return fake


def answers_to(connector: Connector, fake: FakeConnector, *, seconds: float) -> list[Frame]:
    """Returns the relay's answers to all unsent frames of the connector."""
    answers = [
        answer
        for frame in connector.unsent()
        for answer in fake.session.receive(frame, at=after(seconds))
    ]
    for answer in answers:
        connector.handle(answer)
    return answers


@pytest.mark.parametrize("is_there", [True, False])
def test_the_first_comes_back_after_its_run_went_to_the_second(
    card: Card, caller_key: CallerKey, key: ApiKey, journal: Journal, is_there: bool
) -> None:
    """The lease no longer belongs to the first connector, even while the second connector is silent
    at that moment."""
    task = ask(card, caller_key)
    old = FakeConnector(key, machine="laptop").run()
    journal.finish(old["dispatch_id"], old["lease_id"], {"state": "completed", "text": "Old."})
    lost_runs.expire_leases(at=after(LAPSED))
    second = FakeConnector(key, machine="studio", at=after(LAPSED))
    new = second.run(at=after(LAPSED))

    connector = restarted(journal)
    seconds = LAPSED + (1 if is_there else 50)
    first = comes_back(connector, key, seconds=seconds)
    (refused,) = answers_to(connector, first, seconds=seconds)

    assert refused["code"] == "lease_lost"
    assert journal.unconfirmed() == []
    assert Run.objects.get().connector == second.row
    assert second.end(new, "completed", text="New.", at=after(seconds + 1))[0]["type"] == "done"
    assert Task.objects.get(pk=task.pk).state == Task.State.COMPLETED


def test_the_first_comes_back_before_its_run_went_to_another(
    card: Card, caller_key: CallerKey, key: ApiKey, journal: Journal
) -> None:
    """A restarted connector has another machine name, while its earlier connection still looks
    alive."""
    task = ask(card, caller_key)
    run = FakeConnector(key, machine="7c1f").run()
    journal.finish(run["dispatch_id"], run["lease_id"], {"state": "completed", "text": "Done."})

    connector = restarted(journal)
    fake = comes_back(connector, key, seconds=5)
    assert Run.objects.get().connector == fake.row
    (done,) = answers_to(connector, fake, seconds=6)

    assert done == {"type": "done", "dispatch_id": run["dispatch_id"]}
    assert journal.unconfirmed() == []
    assert Task.objects.get(pk=task.pk).state == Task.State.COMPLETED


def test_a_run_that_the_relay_does_not_know_is_set_aside_at_once(
    card: Card, key: ApiKey, journal: Journal
) -> None:
    """The run may be another agent's, or newer than a database that was restored."""
    gone = {"dispatch_id": "6f1f4a9e-2a55-4f4b-8b0a-000000000001", "lease_id": "x"}
    journal.finish(gone["dispatch_id"], gone["lease_id"], {"state": "completed", "text": "Red."})
    connector = restarted(journal)

    fake = comes_back(connector, key, seconds=0)
    (refused,) = answers_to(connector, fake, seconds=1)

    assert (refused["code"], refused["dispatch_id"]) == ("unknown_run", gone["dispatch_id"])
    assert journal.unconfirmed() == []
    assert journal.result(gone["dispatch_id"]) == {"state": "completed", "text": "Red."}
    assert answers_to(connector, fake, seconds=2) == []
