"""Each command of a large installation serves the figures of all its processes."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.conf import settings

from tests.wake.callbacks.world import World
from tests.wake.server.metrics.monitoring import METRICS
from tests.wake.server.up import Up, call, eventually, free_port, up_in
from wake.server.run.roles import ROLES

pytestmark = [
    pytest.mark.once,
    pytest.mark.system,
    pytest.mark.skipif(not settings.DATABASE_URL, reason="with more than one process"),
]
REQUESTS = 40


def test_each_role_serves_at_a_port_of_its_own(
    make_world: Callable[..., World], redis_url: str, subtests: pytest.Subtests
) -> None:
    world = make_world(redis_url=redis_url)
    ours = {"DATABASE_URL": world.database_url, "REDIS_URL": redis_url, "WAKE_DEV": "1"}
    with ExitStack() as running:
        servers, ports = {}, {}
        for role in ROLES:
            ports[role] = free_port()
            server = up_in(world.folder, WAKE_METRICS_PORT=str(ports[role]), **ours)
            servers[role] = running.enter_context(server)
            servers[role].start(role, "--processes", "2")

        for role, port in ports.items():
            with subtests.test(role):
                named = set(re.findall(r"^# TYPE (\S+) ", eventually(_answer(port)), re.M))
                assert named >= METRICS - {"http_server_request_duration_seconds"}

        with subtests.test("an answer has the figures of both processes"):
            eventually(lambda: servers["web"].get("/healthz")[0] == 200)
            before = _requests(ports["web"])
            for _ in range(REQUESTS):
                servers["web"].get("/healthz")
            assert [_requests(ports["web"]) - before for _ in range(5)] == [REQUESTS] * 5

        with subtests.test("another process serves after the first was killed"):
            for pid in _pool(servers["worker"]):
                os.kill(pid, signal.SIGKILL)
            assert eventually(_answer(ports["worker"]))


def _answer(port: int) -> Callable[[], str]:
    """Returns a function that returns the metrics, or an empty text while nothing answers."""
    return lambda: call(f"http://127.0.0.1:{port}/metrics")[1].decode()


def _requests(port: int) -> float:
    counts = re.findall(r'_count{.*http_route="/healthz".*} (\S+)', _answer(port)())
    return sum(map(float, counts))


def _pool(worker: Up) -> list[int]:
    """Returns the processes of a worker that run jobs."""
    assert worker.process is not None
    folder = Path(f"/proc/{worker.process.pid}/task/{worker.process.pid}/children")
    return [int(pid) for pid in folder.read_text().split()]
