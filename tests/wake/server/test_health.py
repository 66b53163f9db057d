"""Health checks tell load balancers and operators what works."""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from tests.fixtures.strict_client import Client
from tests.types import Age, Answer, MakeDelivery
from wake.models import Callback, Heartbeat, Response
from wake.server.health import disks

NO_SERVER = "redis://127.0.0.1:1/0"


@pytest.fixture
def data(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(disks, "_full", None)  # another process, which has not looked yet
    settings.WAKE_DATA = tmp_path
    return tmp_path


@pytest.fixture
def fill_disk(data: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def fill_disk() -> None:
        # No test can fill the disk of the machine.
        monkeypatch.setattr(disks, "FREE_BYTES", shutil.disk_usage(data).total + 1)

    return fill_disk


@pytest.fixture
def heartbeat(db: None) -> Heartbeat:
    return Heartbeat.objects.create(name="wake", at=timezone.now())


@pytest.fixture
def frozen_server() -> Iterator[str]:
    """Accepts the connection and never responds."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def lost(*_: Any) -> None:
    raise OperationalError("the database is away")


def test_healthz_asks_no_other_server(client: Client) -> None:
    answer = client.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_ready_with_a_worker_and_nothing_overdue(
    client: Client, data: Path, heartbeat: Heartbeat
) -> None:
    answer = client.get("/readyz")

    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    assert answer.json() == {
        "status": "ok",
        "database": "ok",
        "broker": "ok",
        "workers": {"last_heartbeat": answer.json()["workers"]["last_heartbeat"]},
        "oldest_due": None,
        "orphans": 0,
        "disks": ANY,
    }
    assert set(answer.json()["disks"].values()) == {"ok"}
    assert answer.json()["workers"]["last_heartbeat"].endswith("Z")


@pytest.mark.django_db
def test_only_degraded_before_the_first_heartbeat(client: Client, data: Path) -> None:
    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert answer.json()["workers"] == {"last_heartbeat": None}


def test_only_degraded_when_the_workers_have_gone_silent(
    client: Client, data: Path, heartbeat: Heartbeat
) -> None:
    Heartbeat.objects.update(at=timezone.now() - timedelta(seconds=61))

    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")


def test_only_degraded_when_redis_refuses(
    client: Client, heartbeat: Heartbeat, settings: Any
) -> None:
    settings.REDIS_URL = NO_SERVER

    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert answer.json()["broker"] == "away"


def test_a_frozen_redis_costs_less_than_a_second(
    client: Client, heartbeat: Heartbeat, settings: Any, frozen_server: str
) -> None:
    settings.REDIS_URL = f"redis://{frozen_server}/0"

    def seconds() -> float:
        began = time.monotonic()
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["broker"]) == (200, "away")
        return time.monotonic() - began

    # This machine may be busy, but hardly three times in a row.
    assert any(seconds() < 3 for _ in range(3))


@pytest.mark.parametrize("trouble", ["refused", "frozen"])
def test_rabbitmq_and_redis_have_a_line_each(
    client: Client, heartbeat: Heartbeat, settings: Any, frozen_server: str, trouble: str
) -> None:
    address = frozen_server if trouble == "frozen" else "127.0.0.1:1"
    settings.WAKE_USES_RABBITMQ, settings.CELERY_BROKER_URL = True, f"amqp://{address}//"
    settings.REDIS_URL = NO_SERVER

    report = client.get("/readyz")

    assert (report.status_code, report.json()["status"]) == (200, "degraded")
    assert (report.json()["broker"], report.json()["redis"]) == ("away", "away")


@pytest.mark.django_db
def test_down_without_the_database(client: Client, data: Path) -> None:
    with connection.execute_wrapper(lost):
        answer = client.get("/readyz")
        alive = client.get("/healthz")

    assert (answer.status_code, answer.json()["status"]) == (503, "down")
    assert answer.json()["database"] == "away"
    assert alive.status_code == 200


def test_down_when_a_deadline_has_not_been_closed_for_a_minute(
    client: Client,
    data: Path,
    heartbeat: Heartbeat,
    make_delivery: MakeDelivery,
    age: Age,
) -> None:
    delivery = make_delivery(timeout_seconds=60)
    age(delivery, seconds=60 + 59)
    in_time = client.get("/readyz")
    age(delivery, seconds=2)

    late = client.get("/readyz")

    assert (in_time.status_code, in_time.json()["oldest_due"]["what"]) == (200, "deadline")
    assert (late.status_code, late.json()["status"]) == (503, "down")
    assert late.json()["oldest_due"]["seconds"] >= 61


def test_down_when_an_answer_is_still_held_a_minute_after_its_hold(
    client: Client,
    data: Path,
    heartbeat: Heartbeat,
    make_delivery: MakeDelivery,
    answer: Answer,
    age: Age,
) -> None:
    delivery = make_delivery()
    answer(delivery, held=True)
    age(delivery, minutes=2)
    Response.objects.update(release_at=timezone.now() - timedelta(seconds=61))

    report = client.get("/readyz")

    assert (report.status_code, report.json()["oldest_due"]["what"]) == (503, "held response")


def test_down_when_a_callback_has_waited_for_a_minute_but_not_while_it_is_being_sent(
    client: Client,
    data: Path,
    heartbeat: Heartbeat,
    make_delivery: MakeDelivery,
    answer: Answer,
    allowed_host: str,
) -> None:
    answer(make_delivery(callback_webhook=f"https://{allowed_host}/hook"))
    now = timezone.now()
    Callback.objects.update(due_at=now - timedelta(seconds=61), leased_until=None)
    waiting = client.get("/readyz")
    Callback.objects.update(leased_until=now + timedelta(seconds=60))

    sending = client.get("/readyz")

    assert (waiting.status_code, waiting.json()["oldest_due"]["what"]) == (503, "callback")
    assert sending.status_code == 200


def test_readyz_reports_callbacks_that_would_never_be_sent(
    client: Client,
    data: Path,
    heartbeat: Heartbeat,
    make_delivery: MakeDelivery,
    answer: Answer,
    allowed_host: str,
) -> None:
    answer(make_delivery(callback_webhook=f"https://{allowed_host}/hook"))
    Callback.objects.update(due_at=None)

    report = client.get("/readyz")

    assert (report.status_code, report.json()["orphans"]) == (200, 1)


def test_down_when_the_data_folder_has_no_room(
    client: Client, heartbeat: Heartbeat, fill_disk: Callable[[], None]
) -> None:
    fill_disk()

    report = client.get("/readyz")

    assert (report.status_code, report.json()["status"]) == (503, "down")
    assert report.json()["disks"]["data folder"] == "full"


def test_disks_are_checked_every_ten_seconds(
    client: Client, heartbeat: Heartbeat, fill_disk: Callable[[], None]
) -> None:
    client.get("/readyz")
    fill_disk()

    assert client.get("/readyz").status_code == 200


def test_other_methods_are_refused(client: Client) -> None:
    assert client.post("/healthz").status_code == 405
    assert client.post("/readyz").status_code == 405
