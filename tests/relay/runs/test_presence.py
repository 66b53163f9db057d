"""For how long machines are remembered that are gone."""

from __future__ import annotations

from accounts.models import ApiKey
from relay import presence
from relay.models import CallerKey, Card, Connector, Dispatch
from tests.relay.machine import Machine, after, ask


def test_machines_that_are_gone_are_forgotten(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """A new connector is a new row, and some are started every minute."""
    ran, idle, last = (Machine(key, at=after(number)) for number in range(3))
    ask(card, caller_key)
    ran.end(ran.run(at=after(3)), "completed", at=after(4))
    last.tell("heartbeat", dispatch_ids=[], at=after(5))
    last.session.leave(at=after(6))

    def forgotten(**past: float) -> int:
        return presence.forget_gone(at=after(10, **past))

    assert forgotten(hours=23) == 0
    assert [forgotten(days=1), forgotten(days=1)] == [1, 0]
    assert not Connector.objects.filter(instance_id=idle.said["instance_id"]).exists()
    assert Dispatch.objects.get().connector == ran.row
    assert [forgotten(days=29), forgotten(days=30), forgotten(days=30)] == [0, 1, 0]

    assert presence.of(card.agent, at=after(days=31)).seen_at == after(5)
    assert Dispatch.objects.get().connector is None


def test_a_machine_whose_run_is_on_lease_is_not_forgotten(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    ran = Machine(key)
    ask(card, caller_key)
    ran.run()
    Machine(key, at=after(5))

    assert presence.forget_gone(at=after(days=40)) == 0


def test_a_machine_that_drains_is_there_until_it_has_done_what_it_had(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    machine = Machine(key)
    ask(card, caller_key)
    run = machine.run()
    machine.tell("drain", at=after(1))

    assert presence.is_online(card.agent, at=after(2))
    machine.end(run, "completed", at=after(3))
    assert not presence.is_online(card.agent, at=after(4))
