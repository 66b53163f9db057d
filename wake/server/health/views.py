"""Reports to load balancers and people whether this server runs and does its work."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import Error
from django.db.models import Max
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe
from psycopg_pool import PoolTimeout

from database.clock import database_now
from wake.models import Callback, Heartbeat
from wake.server.health import broker
from wake.server.health.disks import disks
from wake.server.metrics import queues

# A sweep runs about every second. A row that has been due this long means that no sweep runs.
OVERDUE_AFTER = timedelta(seconds=60)
SILENT_AFTER = timedelta(seconds=60)
# Agents wait for this work.
QUEUES = {
    "callback": queues.callbacks,
    "held response": queues.held_responses,
    "deadline": queues.deadlines,
}


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answers 200 while the web process runs. The answer depends on nothing else."""
    return _json({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Answers 503 when agents are affected: the database is away, a disk is full, or due work is
    not done.

    Without the broker, Redis or a worker's heartbeat the status is only degraded: delivering,
    reading and answering still work. Redis has a line of its own if it is not the broker.
    """
    report: dict[str, Any] = {
        "status": "down",
        "database": "away",
        "broker": "ok" if broker.answers() else "away",
        **({"redis": _redis()} if settings.WAKE_USES_RABBITMQ else {}),
        "workers": {"last_heartbeat": None},
        "oldest_due": None,
        "orphans": None,
        "disks": None,
    }
    with suppress(Error, PoolTimeout):
        now = database_now()
        report["workers"]["last_heartbeat"] = Heartbeat.objects.aggregate(last=Max("at"))["last"]
        report["oldest_due"] = _oldest_due(now)
        report["orphans"] = Callback.objects.orphaned().count()
        report["disks"] = disks()
        report["database"] = "ok"
        report["status"] = _status(report, now)
    return _json(report, 503 if report["status"] == "down" else 200)


def _redis() -> str:
    return "ok" if broker.redis_answers() else "away"


def _status(report: dict[str, Any], now: datetime) -> str:
    if report["oldest_due"] and now - report["oldest_due"]["due_at"] > OVERDUE_AFTER:
        return "down"
    if "full" in report["disks"].values():
        return "down"
    beat = report["workers"]["last_heartbeat"]
    answer = {report["broker"], report.get("redis", "ok")} == {"ok"}
    works = answer and beat is not None and now - beat <= SILENT_AFTER
    return "ok" if works else "degraded"


def _oldest_due(now: datetime) -> dict[str, Any] | None:
    """Returns the work that has waited longest for a worker, and since when."""
    firsts = {what: first_due(now) for what, first_due in QUEUES.items()}
    waiting = [(at, what) for what, at in firsts.items() if at is not None]
    if not waiting:
        return None
    at, what = min(waiting)
    return {"what": what, "due_at": at, "seconds": int((now - at).total_seconds())}


def _json(report: dict[str, Any], status: int = 200) -> JsonResponse:
    return JsonResponse(report, status=status, headers={"Cache-Control": "no-store"})
