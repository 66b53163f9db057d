"""A wake-up never delays a request, even when the broker fails."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from urllib.parse import urlsplit

import pytest
from redis import Redis

from tests.wake.callbacks.world import Wire, World, eventually

pytestmark = pytest.mark.system

# The broker's time-outs are one and two seconds. So a request that waits for a time-out takes
# longer than this.
AT_NORMAL_SPEED = 1.0

FIVE_ANSWERS = """
from tests.fixtures.strict_client import Client

def timed(work):
    started = time.monotonic()
    work()
    return time.monotonic() - started

def deliver_read_and_answer():
    posted = client.post("/wake/v1/deliver", {
        "agent_id": "research-agent-01", "provider": "claude", "type": "question",
        "headline": "Ship it?", "summary": "Green.", "callback_webhook": "http://localhost:9/",
    }, content_type="application/json")
    assert posted.status_code == 201, posted.content
    delivery = Delivery.objects.get(pk=posted.json()["delivery_id"])
    read = client.get(f"/wake/v1/response/{delivery.pk}")
    assert read.status_code == 200, read.content
    respond(delivery, by=User.objects.get(), status="approved", content_hash=delivery.content_hash,
        at=timezone.now())

call_command("allow_callback", "localhost:9")
client = Client(SERVER_NAME="localhost", headers={"Authorization": f"Bearer {KEY}"})
"""
MEASURED = "result = [timed(deliver_read_and_answer) for _ in range(5)]"


@pytest.fixture
def redis(redis_url: str) -> Redis:
    redis = Redis.from_url(redis_url)
    redis.delete("wake:wake")
    return redis


@pytest.fixture
def wire(redis_url: str) -> Wire:
    server = urlsplit(redis_url)
    return Wire(server.hostname or "127.0.0.1", server.port or 6379)


@pytest.fixture
def world(make_world: Callable[..., World], wire: Wire, redis_url: str) -> World:
    through_the_wire = urlsplit(redis_url)._replace(netloc=f"127.0.0.1:{wire.port}").geturl()
    world = make_world(redis_url=through_the_wire, hold_seconds=0)
    world.run(f"KEY = {world.key['key']!r}" + FIVE_ANSWERS)
    return world


def rings(redis: Redis) -> int:
    length = redis.llen("wake:wake")
    assert isinstance(length, int)
    return length


@pytest.mark.parametrize("trouble", ["frozen", "refused", "frozen later"])
def test_a_failing_redis_delays_no_request_and_wake_ups_resume_afterwards(
    world: World, wire: Wire, redis: Redis, trouble: str
) -> None:
    if trouble.endswith("later"):
        wire.open()
        world.run("signals.work_due.send(sender=Callback)")  # so that no wake-up is on its way
        assert eventually(lambda: rings(redis), seconds=60)
    (wire.freeze if trouble.startswith("frozen") else wire.cut)()
    before = rings(redis)

    took = world.run(MEASURED)

    assert median(took) < AT_NORMAL_SPEED
    assert world.run("result = Callback.objects.count()") >= 5
    assert rings(redis) == before
    wire.open()
    world.run(MEASURED)
    assert eventually(lambda: rings(redis) > before, seconds=60)


def test_wake_ups_missed_during_an_outage_are_sent_once(
    world: World, wire: Wire, redis: Redis
) -> None:
    wire.freeze()

    world.run("for _ in range(500): signals.work_due.send(sender=Callback)")
    wire.open()
    world.run("signals.work_due.send(sender=Callback)")

    assert eventually(lambda: rings(redis), seconds=60)
    assert rings(redis) <= 3


def test_a_forked_process_has_its_own_wake_up_connection(
    world: World, wire: Wire, redis: Redis
) -> None:
    wire.open()
    world.run("signals.work_due.send(sender=Callback)")
    assert eventually(lambda: rings(redis) == 1, seconds=60)

    code = world.run("""
import os
child = os.fork()
if child == 0:
    signals.work_due.send(sender=Callback)
    time.sleep(3)
    os._exit(7)
result = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
""")

    assert code == 7
    assert rings(redis) == 2
