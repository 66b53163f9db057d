"""A wake-up never delays a request, even when the broker fails."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from urllib.parse import urlsplit

import pytest
from redis import Redis

from tests.fixtures.rabbitmq import remove_all_from, waiting_in
from tests.wake.callbacks.world import Wire, World, eventually, through

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


class Broker:
    """A broker at the other end of a wire."""

    def __init__(self, url: str) -> None:
        server = urlsplit(url)
        self._url = url
        self.is_redis = server.scheme == "redis"
        self.wire = Wire(server.hostname or "127.0.0.1", server.port or 0)
        self.url = through(self.wire, url)

    def rings(self) -> int:
        """Returns how many jobs wait."""
        if not self.is_redis:
            return waiting_in(self._url)
        length = Redis.from_url(self._url).llen("wake:wake")
        assert isinstance(length, int)
        return length


@pytest.fixture(params=["redis", "rabbitmq"])
def broker(request: pytest.FixtureRequest, redis_url: str) -> Broker:
    if request.param == "rabbitmq":
        rabbitmq_url = request.getfixturevalue("rabbitmq_url")
        remove_all_from(rabbitmq_url)
        return Broker(rabbitmq_url)
    Redis.from_url(redis_url).delete("wake:wake")
    return Broker(redis_url)


@pytest.fixture
def world(make_world: Callable[..., World], broker: Broker, redis_url: str) -> World:
    urls = {"redis_url": redis_url, "broker_url": broker.url}
    world = make_world(**urls, hold_seconds=0)
    world.run(f"KEY = {world.key['key']!r}" + FIVE_ANSWERS)
    return world


@pytest.mark.parametrize("trouble", ["frozen", "refused", "frozen later"])
def test_a_failing_broker_delays_no_request_and_wake_ups_resume_afterwards(
    world: World, broker: Broker, trouble: str
) -> None:
    if trouble.endswith("later"):
        broker.wire.open()
        world.run("signals.work_due.send(sender=Callback)")  # so that no wake-up is on its way
        assert eventually(broker.rings, seconds=60)
    (broker.wire.freeze if trouble.startswith("frozen") else broker.wire.cut)()
    before = broker.rings()

    took = world.run(MEASURED)

    assert median(took) < AT_NORMAL_SPEED
    assert world.run("result = Callback.objects.count()") >= 5
    assert broker.rings() == before
    broker.wire.open()
    world.run(MEASURED)
    assert eventually(lambda: broker.rings() > before, seconds=60)


def test_wake_ups_missed_during_an_outage_are_sent_once(world: World, broker: Broker) -> None:
    broker.wire.freeze()

    world.run("for _ in range(500): signals.work_due.send(sender=Callback)")
    broker.wire.open()
    world.run("signals.work_due.send(sender=Callback)")

    assert eventually(broker.rings, seconds=60)
    assert broker.rings() <= 3


@pytest.mark.parametrize("broker", ["redis"], indirect=True)
def test_a_forked_process_has_its_own_wake_up_connection(world: World, broker: Broker) -> None:
    """With RabbitMQ, Celery's pool has this by Celery itself. Wake's servers do not fork after they
    have connected."""
    broker.wire.open()
    world.run("signals.work_due.send(sender=Callback)")
    assert eventually(lambda: broker.rings() == 1, seconds=60)

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
    assert broker.rings() == 2
