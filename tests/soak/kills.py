"""Senders die by kill -9 again and again while answers flow."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

from tests.stress.faults.ledger import one_of_each
from tests.stress.faults.servers import Postgres
from tests.wake.callbacks.receiver import Receiver, slowly
from tests.wake.callbacks.test_crashes import A_SENDER_THAT_CAN_BE_KILLED
from tests.wake.callbacks.world import World, eventually

KILLS, ANSWERS = 40, 3_000


def run(folder: Path) -> list[str]:
    postgres = Postgres()
    world = World(folder, server=postgres.url, hold_seconds=0)
    receiver = Receiver()
    try:
        return _run(world, receiver)
    finally:
        receiver.stop()
        world.end()
        postgres.end()


def _run(world: World, receiver: Receiver) -> list[str]:
    chance = random.Random()  # noqa: S311 - it protects no secret
    receiver.then(*[slowly(chance.uniform(0.005, 0.05)) for _ in range(2 * ANSWERS)])
    world.run(f"call_command('allow_callback', '127.0.0.1:{receiver.port}')")
    world.run(A_SENDER_THAT_CAN_BE_KILLED)
    acknowledged: list[str] = []
    each = ANSWERS // KILLS
    for _ in range(KILLS):
        acknowledged += world.run(f"result = [answered({receiver.url!r}) for _ in range({each})]")
        enough = len(receiver.received) + chance.randint(1, each - 15)
        sender = world.run("result = start_sender()")
        assert eventually(lambda enough=enough: len(receiver.received) >= enough, seconds=60)  # type: ignore[misc]
        os.kill(sender, signal.SIGKILL)
        world.run(f"bury({sender})")
    world.run("while Callback.objects.unfinished().exists(): sending.send_due()")

    bodies = one_of_each(receiver.received)
    undelivered = world.run("result = Callback.objects.filter(delivered_at=None).count()")
    assert undelivered == 0
    assert bodies.keys() == set(acknowledged)
    return [
        f"{len(acknowledged)} answers, {KILLS} senders killed by kill -9, "
        f"{len(receiver.received)} requests received: none lost, "
        f"{len(receiver.received) - len(acknowledged)} came twice with the same id and body"
    ]
