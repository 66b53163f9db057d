"""Connectors that are gone are deleted after some time."""

from __future__ import annotations

from accounts.models import ApiKey
from relay.models import CallerKey, Card, Connector, Run
from relay.runs import presence
from tests.relay.calling import presence_of
from tests.relay.fake_connector import FakeConnector, after, ask


def test_old_connectors_are_deleted(card: Card, caller_key: CallerKey, key: ApiKey) -> None:
    """Each new connector is a row, and some programs start one every minute."""
    ran, idle, last = (FakeConnector(key, at=after(number)) for number in range(3))
    ask(card, caller_key)
    ran.end(ran.run(at=after(3)), "completed", at=after(4))
    last.send_frame("heartbeat", dispatch_ids=[], at=after(5))
    last.session.leave(at=after(6))

    def forgotten(**past: float) -> int:
        return presence.forget_gone(at=after(10, **past))

    assert forgotten(hours=23) == 0
    assert [forgotten(days=1), forgotten(days=1)] == [1, 0]
    assert not Connector.objects.filter(instance_id=idle.said["instance_id"]).exists()
    assert Run.objects.get().connector == ran.row
    assert [forgotten(days=29), forgotten(days=30), forgotten(days=30)] == [0, 1, 0]

    assert presence_of(card, at=after(days=31)).seen_at == after(5)
    assert Run.objects.get().connector is None


def test_a_connector_with_a_leased_run_is_not_deleted(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    ran = FakeConnector(key)
    ask(card, caller_key)
    ran.run()
    FakeConnector(key, at=after(5))

    assert presence.forget_gone(at=after(days=40)) == 0


def test_a_draining_connector_is_online_until_its_runs_end(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    ask(card, caller_key)
    run = connector.run()
    connector.send_frame("drain", at=after(1))

    assert presence_of(card, at=after(2)).online
    connector.end(run, "completed", at=after(3))
    assert not presence_of(card, at=after(4)).online


def test_a_draining_connector_is_not_waited_for(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    ask(card, caller_key)
    connector.run()
    connector.send_frame("drain", at=after(1))

    assert not presence.takes_runs(card.agent, at=after(2))
    FakeConnector(key, at=after(3))
    assert presence.takes_runs(card.agent, at=after(4))
