"""Real workers on a real broker send answers without any help."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings

from tests.wake.callbacks.receiver import Receiver, slowly
from tests.wake.callbacks.verifying import verify
from tests.wake.callbacks.world import World, eventually

pytestmark = pytest.mark.system

# Starting a worker takes seconds on a busy machine. So a wait ends as soon as its condition is
# true, and gives up late.
PATIENCE = 120
EMPTY = "for model in (Callback, Response, Delivery, Heartbeat): model.objects.all().delete()"
DELIVERED = "result = Callback.objects.filter(delivered_at__isnull=False).count()"


@pytest.fixture
def receiver(start_receiver: Callable[..., Receiver]) -> Receiver:
    return start_receiver()


@pytest.fixture(scope="module", params=["usual", "rabbitmq"])
def settled_world(request: pytest.FixtureRequest, make_world: Callable[..., World]) -> World:
    """Returns an embedded world, with SQLite, or one of production, with PostgreSQL and Redis. In
    production, RabbitMQ may be the broker."""
    if not settings.DATABASE_URL:
        if request.param == "rabbitmq":
            pytest.skip("an embedded server needs no broker")
        return make_world()
    urls = {"redis_url": request.getfixturevalue("redis_url")}
    if request.param == "rabbitmq":
        urls["broker_url"] = request.getfixturevalue("rabbitmq_url")
    return make_world(**urls)


@pytest.fixture
def world(settled_world: World, receiver: Receiver) -> Iterator[World]:
    """Yields a server without deliveries and without running processes."""
    settled_world.run(f"call_command('allow_callback', '127.0.0.1:{receiver.port}')")
    yield settled_world
    settled_world.stop(signal.SIGKILL)
    settled_world.run(EMPTY)


def test_an_answer_is_released_by_the_sweep_and_its_callback_arrives_signed(
    world: World, receiver: Receiver
) -> None:
    world.start_worker()
    world.start_beat()
    delivery_id = world.run(f"result = answered({receiver.url!r}, 'rejected', feedback='Not yet.')")

    arrived = eventually(lambda: receiver.received, seconds=PATIENCE)

    assert arrived, world.logs
    (arrival,) = receiver.received
    assert arrival.json["delivery_id"] == delivery_id == arrival.headers["X-Wake-Delivery-Id"]
    assert arrival.json["feedback"] == "Not yet."
    secret = world.key["signing_secret"]
    assert verify(arrival.body, arrival.headers["X-Wake-Signature"], secret=secret)
    assert eventually(lambda: world.run(DELIVERED), seconds=PATIENCE), world.logs
    assert world.run("result = Response.objects.get().picked_up_by") == "webhook"
    assert "Traceback" not in world.logs


def test_the_sweeps_close_deadlines_and_write_a_heartbeat(world: World) -> None:
    world.run("""
answered("")
Response.objects.all().delete()
Delivery.objects.update(answered_at=None, expires_at=timezone.now())
""")
    world.start_worker()
    world.start_beat()

    closed = "result = Delivery.objects.filter(timed_out_at__isnull=False).count()"
    assert eventually(lambda: world.run(closed), seconds=PATIENCE), world.logs
    beats = "result = Heartbeat.objects.filter(name='wake').count()"
    assert eventually(lambda: world.run(beats), seconds=PATIENCE), world.logs
    assert "Traceback" not in world.logs


def test_a_wake_up_alone_starts_the_worker(world: World, receiver: Receiver) -> None:
    """Without beat there are no sweeps, so with Redis only a wake-up can start the job."""
    world.start_worker()
    world.run(f"answered({receiver.url!r})")
    assert receiver.received == []

    world.run("""
from wake.responses import release_due
time.sleep(1.1)
release_due(at=timezone.now())
""")

    assert eventually(lambda: receiver.received, seconds=PATIENCE), world.logs
    assert eventually(lambda: world.run(DELIVERED), seconds=PATIENCE), world.logs


def test_a_worker_killed_in_the_middle_of_an_attempt_loses_nothing(
    world: World, receiver: Receiver
) -> None:
    receiver.then(slowly(PATIENCE))
    world.start_worker()
    world.start_beat()
    world.run(f"answered({receiver.url!r})")
    assert eventually(lambda: receiver.received, seconds=PATIENCE), world.logs

    world.stop(signal.SIGKILL)
    claimed = world.run("""
row = Callback.objects.get()
result = [row.tries, row.lease, row.attempts.count(), row.delivered_at]
Callback.objects.update(leased_until=timezone.now())  # the minute of the lease goes by
""")
    world.start_worker()
    world.start_beat()

    assert claimed[0] == 1
    assert claimed[1] is not None
    assert claimed[2:] == [0, None]
    assert eventually(lambda: world.run(DELIVERED), seconds=PATIENCE), world.logs
    first, second = receiver.received
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    numbers: list[Any] = world.run("result = list(CallbackAttempt.objects.values_list('number'))")
    assert numbers == [[2]]


def test_waiting_jobs_are_counted(world: World) -> None:
    count = "from wake.server.work.celery import jobs_waiting; result = jobs_waiting()"
    world.run("from wake.server.work.celery import app; app.control.purge()")

    before = world.run(count)
    world.run("from wake import jobs; jobs.beat.apply_async(); jobs.time_out_overdue.apply_async()")

    assert (before, world.run(count)) == (0, 2)
