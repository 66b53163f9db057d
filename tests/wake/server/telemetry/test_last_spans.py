"""A process that stops sends its spans, although the next batch would leave much later."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx
import pytest

from tests.fixtures.agent_client import AgentClient
from tests.fixtures.served import served
from tests.wake.callbacks.receiver import Receiver
from tests.wake.callbacks.world import World, eventually
from tests.wake.server.telemetry.collected import names_of

pytestmark = [pytest.mark.once, pytest.mark.system]
TEN_MINUTES = {"OTEL_BSP_SCHEDULE_DELAY": "600000"}
# A collector that is away must not keep a process for longer (wake/server/telemetry/otlp.py).
SOON = 8.0


@pytest.fixture
def collector(start_receiver: Callable[..., Receiver], monkeypatch: pytest.MonkeyPatch) -> Receiver:
    """Returns a collector, and names it to all processes that the test starts."""
    collector = start_receiver()
    ours = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url.removesuffix("/hook"), **TEN_MINUTES}
    for name, value in ours.items():
        monkeypatch.setenv(name, value)
    return collector


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("interface", ["wsgi", "asgi"])
def test_a_web_server_sends_its_last_spans(
    interface: str, caller: AgentClient, collector: Receiver
) -> None:
    with served(interface) as server, httpx.Client(base_url=server, headers=caller.headers) as web:
        pk = web.post("/wake/v1/deliver", json=caller.payload()).json()["delivery_id"]
        # The span of a request ends a moment after its response.
        assert web.get(f"/wake/v1/response/{pk}").status_code == 200
        assert names_of(collector) == {}

    assert "POST /wake/v1/deliver" in names_of(collector)


@pytest.mark.parametrize("has_redis", [True, False])
def test_a_worker_sends_its_last_spans(
    has_redis: bool,
    collector: Receiver,
    make_world: Callable[..., World],
    request: pytest.FixtureRequest,
) -> None:
    """With Redis, a process of Celery's pool sends the callback. Without, the worker does."""
    redis_url = request.getfixturevalue("redis_url") if has_redis else ""
    world = make_world(redis_url=redis_url, hold_seconds=0)
    world.run(f"call_command('allow_callback', '127.0.0.1:{collector.port}')")
    world.start_worker()
    world.run(f"answered({collector.url!r})")
    delivered = "result = Callback.objects.filter(delivered_at__isnull=False).count()"
    assert eventually(lambda: world.run(delivered), seconds=120), world.logs
    assert names_of(collector) == {}

    end(world)

    assert "POST" in names_of(collector), world.logs


def test_a_collector_that_is_away_delays_no_stop(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    world = make_world(redis_url="")
    world.start_worker()
    beats = "result = Heartbeat.objects.count()"
    assert eventually(lambda: world.run(beats), seconds=60), world.logs
    began = time.monotonic()

    codes = end(world)

    assert codes == [0], world.logs
    assert time.monotonic() - began < SOON


def end(world: World) -> list[int]:
    """Stops the started processes as a supervisor does, without their children."""
    for process in world.running:
        process.terminate()
    return [process.wait(60) for process in world.running]
