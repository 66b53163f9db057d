"""A real Prometheus scrapes a real server, evaluates every query, and sees an alert fire."""

from __future__ import annotations

import json
import os
import re
import signal
from contextlib import closing
from pathlib import Path

import pytest

from tests.fixtures.migrated import migrated_folder
from tests.stress.faults.site import PersonAt
from tests.wake.server.metrics.monitoring import (
    METRICS,
    PROMETHEUS,
    Prometheus,
    expressions,
    program,
    scraping,
)
from tests.wake.server.up import Up, call, eventually, free_port, printed, up_in

pytestmark = [pytest.mark.once, pytest.mark.system]

TOKEN = "a-token-for-this-test"
# This server has no replica, so these metrics have no series.
OF_A_REPLICA = {"wake_replica_in_use", "wake_replica_lag_seconds"}
# Two minutes become two seconds.
QUICK = re.sub(
    r"for: \d+m", "for: 1s", (PROMETHEUS / "alerts.yml").read_text().replace("> 120", "> 2")
)


def test_prometheus_watches_a_server_whose_worker_stops(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """The server starts once for all of this, because it takes seconds to start."""
    program("prometheus")
    port = free_port()
    ours = {"WAKE_METRICS_PORT": str(port), "WAKE_METRICS_TOKEN": TOKEN, "WAKE_HOLD_SECONDS": "1"}
    with up_in(migrated_folder(tmp_path / "data"), **ours) as server:
        greeting = server.start().once_greeted()
        key, password = printed("Key", greeting), printed("Password", greeting)

        with subtests.test("who may read"):
            assert server.get("/healthz")[0] == 200  # the first request that is measured
            assert server.get("/metrics")[0] == 401
            status, usual = server.get("/metrics", Authorization=f"Bearer {TOKEN}")
            assert status == 200
            own = eventually(lambda: call(f"http://127.0.0.1:{port}/metrics")[1])
            assert _types(own) == _types(usual) == METRICS

        person = PersonAt(server.url, "owner@example.com", password)
        first = _deliver(server, key)
        assert person.answer(first).status_code == 303
        _poll_until_approved(server, key, first)
        with (
            closing(person.client),
            scraping(tmp_path, server.port, alerts=QUICK, token=TOKEN) as prometheus,
        ):
            with subtests.test("every metric has a series"):
                eventually(lambda: _stored(prometheus) >= METRICS - OF_A_REPLICA)

            with subtests.test("every query can be evaluated"):
                for expression in expressions():
                    assert prometheus.ask("query", query=expression) is not None, expression

            with subtests.test("the counts are right"):
                eventually(lambda: prometheus.values("wake_responses_total") == [1.0])
                (series,) = prometheus.ask("query", query="wake_responses_total")["result"]
                labels = {"status": "approved", "route": "poll", "decided_by": "person"}
                assert labels.items() <= series["metric"].items()
                eventually(lambda: prometheus.values("sum(wake_deliveries_total)") == [1.0])

            with subtests.test("a worker stops"):
                assert "WakeWorkOverdue" not in prometheus.firing()
                workers = server.pids("sweeper")  # the worker of a server without Redis
                assert workers
                for pid in workers:
                    os.kill(pid, signal.SIGSTOP)
                assert person.answer(_deliver(server, key)).status_code == 303
                eventually(lambda: "WakeWorkOverdue" in prometheus.firing())

            with subtests.test("the worker works again"):
                for pid in workers:
                    os.kill(pid, signal.SIGCONT)
                eventually(lambda: "WakeWorkOverdue" not in prometheus.firing())


def _deliver(server: Up, key: str) -> str:
    body = {
        **{"agent_id": "my-first-agent", "provider": "test", "type": "question"},
        **{"headline": "Ship it?", "summary": "Everything is green."},
    }
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    status, answer = call(
        f"{server.url}/wake/v1/deliver", json.dumps(body).encode(), headers=headers
    )
    assert status == 201, answer
    return str(json.loads(answer)["delivery_id"])


def _poll_until_approved(server: Up, key: str, delivery: str) -> None:
    def is_approved() -> bool:
        _, body = server.get(f"/wake/v1/response/{delivery}", Authorization=f"Bearer {key}")
        return bool(json.loads(body)["status"] == "approved")

    eventually(is_approved)


def _types(text: bytes) -> set[str]:
    return set(re.findall(r"^# TYPE (\S+) ", text.decode(), re.M))


def _stored(prometheus: Prometheus) -> set[str]:
    found = prometheus.ask("label/__name__/values") or []
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in found}
