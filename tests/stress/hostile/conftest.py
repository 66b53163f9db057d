"""Calls the server by WSGI without a socket, and checks every answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, settings

from accounts.models import ApiKey, AuditEvent
from tests.stress.hostile.asking import MORE, Answer, ask, examples, keep_the_connection
from wake.models import Delivery

settings.register_profile(
    "hostile",
    max_examples=examples(150),
    deadline=None,
    derandomize=not MORE,
    database=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)

settings.load_profile("hostile")

MAX_CPU_SECONDS = 2.0


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    keep_the_connection()
    yield
    request_started.connect(close_old_connections)
    request_finished.connect(close_old_connections)


@pytest.fixture
def judged(key: ApiKey, settings: Any) -> Callable[..., Answer]:
    """Sends a request with a valid key and checks what holds for every answer."""
    settings.WAKE_QUOTA_LIVE = (3_600_000, 1_000_000)
    settings.WAKE_READS_PER_MINUTE = 1_000_000
    authorization = f"Bearer {key.text}"  # type: ignore[attr-defined]

    stored = _stored()

    def judge(method: str, path: str, **request: Any) -> Answer:
        nonlocal stored
        before, start = stored, time.thread_time()
        headers = {"Authorization": authorization, **request.pop("headers", {})}

        answer = ask(method, path, headers=headers, **request)

        took = time.thread_time() - start
        assert answer.status < 500, answer.body
        assert took < MAX_CPU_SECONDS, f"{took:.1f} s"
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Cache-Control"] == "no-store"
        body = answer.json
        assert isinstance(body, dict)
        stored = _stored()
        if answer.status >= 400:
            assert set(body["error"]) <= {"code", "message", "fields"}
            assert stored == before, "A refused request stores nothing."
        return answer

    return judge


def _stored() -> tuple[int, int]:
    return Delivery.objects.count(), AuditEvent.objects.count()
