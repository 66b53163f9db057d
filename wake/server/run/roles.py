"""Builds the commands that `manage.py up` runs: the servers, the worker and beat."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

from django.conf import settings

# Granian lets requests, including long polls, finish for this long before it ends its own
# processes.
STOP_SECONDS = 5
MAX_DEFAULT_PROCESSES = 4
# The limit is for each process, and idle connections count as well.
MAX_CONNECTIONS = 4096
OPEN_FILES = 2 * MAX_CONNECTIONS
# In bytes, for the request line and all headers together. Above it, Granian answers 431.
LONGEST_HEADERS = 32_768
# Granian's processes log before they load the application and its settings.
JSON_LOG = Path(__file__).parents[1] / "telemetry" / "granian.json"


class BeatNotNeeded(Exception):
    """Without REDIS_URL, the worker also does beat's part. Run only `up worker`."""


def web(host: str, processes: int | None) -> list[str]:
    """Returns the command of the server for all requests that do not wait or stream. This server
    has a few threads (wake/server/http/request_threads.py)."""
    return granian("web", host, settings.PORT, _processes(processes))


def stream(host: str, processes: int | None) -> list[str]:
    """Returns the command of the server for all requests. Only this server takes connectors, and
    many waiting requests at a time."""
    return granian("asgi", host, settings.PORT, _processes(processes))


def worker(host: str, processes: int | None) -> list[str]:
    """Returns the command of the worker. Without Redis, the worker is one process that also does
    beat's part."""
    if not settings.REDIS_URL:
        return [sys.executable, "-m", "wake.server.work.sweeper"]
    # One process may be busy with a slow receiver, so a second one releases answers.
    pool = ["--pool", "prefork", "--concurrency", str(max(2, _processes(processes)))]
    return _celery("worker", "--without-gossip", "--without-mingle", *pool)


def beat(host: str, processes: int | None) -> list[str]:
    """Returns the command of beat. Raises BeatNotNeeded without Redis."""
    if not settings.REDIS_URL:
        raise BeatNotNeeded(BeatNotNeeded.__doc__)
    return _celery("beat")


ROLES = {"web": web, "stream": stream, "worker": worker, "beat": beat}


def all_on_one_machine(host: str, processes: int | None) -> dict[str, list[str]]:
    """Returns the commands for one machine. Its one web server also serves requests that wait or
    stream."""
    together = {"web": stream(host, processes), "worker": worker(host, processes)}
    return {**together, "beat": beat(host, processes)} if settings.REDIS_URL else together


def granian(module: str, host: str, port: int, processes: int) -> list[str]:
    """Returns a command that serves `application` of a module of wake, over HTTP/1.1 only. Proxies
    speak HTTP/1.1, and one HTTP/2 connection carries hundreds of requests, which no limit here
    counts."""
    return [
        *(sys.executable, "-m", "granian", f"wake.server.{module}:application"),
        *("--interface", "asginl", "--http", "1", "--ws" if module == "asgi" else "--no-ws"),
        *("--loop", "uvloop", "--host", host, "--port", str(port)),
        *("--workers", str(processes), "--workers-kill-timeout", str(STOP_SECONDS)),
        # Idle connections count as well. With Granian's default, 1,024 idle connections stop the
        # server.
        *("--backpressure", str(MAX_CONNECTIONS)),
        *("--http1-buffer-size", str(LONGEST_HEADERS)),
        *("--log-level", settings.WAKE_LOG_LEVEL.lower()),
        *(("--log-config", str(JSON_LOG)) if settings.WAKE_LOG == "json" else ()),
    ]


def allow_open_files() -> None:
    """Raises the limit of open files for this process and its children. A shell starts with 1,024;
    the kernel allows many more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _celery(*arguments: str) -> list[str]:
    return [
        *(sys.executable, "-m", "celery", "--quiet", "-A", "wake.server.work.celery"),
        *(*arguments, "--loglevel", settings.WAKE_LOG_LEVEL),
    ]


def _processes(asked: int | None) -> int:
    """Returns 1 without PostgreSQL or Redis, even if more processes were asked for. SQLite has one
    writer at a time, and without Redis the rate limits are counted in memory."""
    if not settings.REDIS_URL or not settings.DATABASE_URL:
        return 1
    return asked or min(os.cpu_count() or 1, MAX_DEFAULT_PROCESSES)
