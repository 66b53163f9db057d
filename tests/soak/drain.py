"""Thousands of callbacks wait for a receiver that failed, and are sent when the receiver works
again."""

from __future__ import annotations

import time
from pathlib import Path

from tests.stress.faults.ledger import one_of_each
from tests.stress.faults.servers import Postgres, RedisServer
from tests.wake.callbacks.receiver import Receiver
from tests.wake.callbacks.test_receivers import Crowd
from tests.wake.callbacks.world import World, eventually
from wake.callbacks.host_limits import PER_HOST

WAITING = 3_000
DOWN_SECONDS = 25


def run(folder: Path) -> list[str]:
    postgres, redis = Postgres(), RedisServer()
    world = World(folder, server=postgres.url, redis_url=redis.url, hold_seconds=0)
    receiver = Receiver()
    try:
        return _run(world, receiver)
    finally:
        receiver.stop()
        world.end()
        redis.kill()
        postgres.end()


def _run(world: World, receiver: Receiver) -> list[str]:
    crowd = Crowd(status=503)
    receiver.then(*[crowd] * (4 * WAITING))
    world.run(f"call_command('allow_callback', '127.0.0.1:{receiver.port}')")
    world.run(f"for _ in range({WAITING}): answered({receiver.url!r})")
    world.start_worker()
    world.start_beat()
    time.sleep(DOWN_SECONDS)
    during = len(receiver.received)
    crowd.status, back_at = 200, time.time()

    left = "result = Callback.objects.filter(delivered_at=None).count()"
    assert eventually(lambda: world.run(left) == 0, seconds=600), world.logs[-5_000:]

    times = world.run(
        "result = sorted(at.timestamp() for at, in Callback.objects.values_list('delivered_at'))"
    )
    assert len(one_of_each(receiver.received)) == WAITING
    assert during < WAITING / 10
    assert crowd.most <= PER_HOST
    return [
        f"{WAITING} callbacks for a receiver that answered 503 for {DOWN_SECONDS} s: {during} "
        f"requests meanwhile; 99 of 100 delivered {times[WAITING * 99 // 100] - back_at:.0f} s "
        f"after it was back, the last {times[-1] - back_at:.0f} s after (a second retry waits "
        f"five minutes), at most {crowd.most} at a time"
    ]
