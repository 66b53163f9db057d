"""The commands behind `manage.py up`: what serves, what works and what rings the bell."""

from __future__ import annotations

import os
import sys

from django.conf import settings

# Granian leaves a request that long to finish, a long poll too, before it ends its own processes.
LEAVE_SECONDS = 5
BUSIEST_BY_DEFAULT = 4
EMBEDDED_JOBS_AT_ONCE = 4


def web(host: str, processes: int | None) -> list[str]:
    """WSGI: a thread for each database connection of the pool (PERFORMANCE: Server)."""
    pool = settings.DATABASES["default"]["OPTIONS"].get("pool", {})
    threads = str(pool.get("max_size", EMBEDDED_JOBS_AT_ONCE))
    return _granian("wsgi", host, _processes(processes), "--blocking-threads", threads)


def stream(host: str, processes: int | None) -> list[str]:
    """ASGI: everything, the only one for many that wait at a time, and for connectors."""
    return _granian("asgi", host, _processes(processes))


def worker(host: str, processes: int | None) -> list[str]:
    if settings.REDIS_URL:
        # One may be busy with a slow receiver, so another is there to release answers.
        at_once = max(2, _processes(processes))
        pool = ["--pool", "prefork", "--concurrency", str(at_once)]
    else:
        # SQLite has one writer at a time, and the broker is a folder: processes would gain nothing.
        pool = ["--pool", "threads", "--concurrency", str(EMBEDDED_JOBS_AT_ONCE)]
    return _celery("worker", "--without-gossip", "--without-mingle", *pool)


def beat(host: str, processes: int | None) -> list[str]:
    return _celery("beat")


ROLES = {"web": web, "stream": stream, "worker": worker, "beat": beat}


def all_on_one_machine(host: str, processes: int | None) -> dict[str, list[str]]:
    """One port, so whatever waits or streams must be served there, too."""
    return {
        "web": stream(host, processes),
        "worker": worker(host, processes),
        "beat": beat(host, processes),
    }


def _granian(interface: str, host: str, processes: int, *more: str) -> list[str]:
    return [
        *(sys.executable, "-m", "granian", f"wake.{interface}:application"),
        *("--interface", "asginl" if interface == "asgi" else interface),
        "--ws" if interface == "asgi" else "--no-ws",
        *("--host", host, "--port", str(settings.PORT)),
        *("--workers", str(processes), "--workers-kill-timeout", str(LEAVE_SECONDS)),
        *("--log-level", _log_level().lower(), *more),
    ]


def _celery(*arguments: str) -> list[str]:
    return [
        *(sys.executable, "-m", "celery", "--quiet", "-A", "wake.celery"),
        *(*arguments, "--loglevel", _log_level()),
    ]


def _processes(asked: int | None) -> int:
    """One with SQLite, whatever was asked for: it has one writer at a time, and the rate limits
    count in memory."""
    if not settings.REDIS_URL or not settings.DATABASE_URL:
        return 1
    return asked or min(os.cpu_count() or 1, BUSIEST_BY_DEFAULT)


def _log_level() -> str:
    return os.environ.get("WAKE_LOG_LEVEL", "INFO")
