"""Serves the metrics at a port of their own, from one process for all that share the port.

Each process of `manage.py up` asks for the port, and the first gets it. When that process ends,
another one gets the port within seconds. So no further process is needed.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from celery.signals import beat_init, worker_process_init
from django.conf import settings
from prometheus_client import start_wsgi_server

from wake.server.metrics import exposition

TRY_SECONDS = 5.0


def serve(**_: Any) -> None:
    """Starts to ask for the port, in a thread of its own. Does nothing if no port is set."""
    if settings.WAKE_METRICS_PORT:
        threading.Thread(target=_serve, name="metrics", daemon=True).start()


def serve_in_workers() -> None:
    """Makes workers and beat serve. With Redis, the processes of a worker's pool serve, because the
    worker's own process forks them and must not use the database. Without Redis, the worker sends
    the signal of beat, because it does beat's part."""
    beat_init.connect(serve)
    worker_process_init.connect(serve)


def _serve() -> None:
    registry = exposition.registry()
    while True:
        try:
            _, thread = start_wsgi_server(
                settings.WAKE_METRICS_PORT, settings.WAKE_METRICS_HOST, registry
            )
        except OSError:
            time.sleep(TRY_SECONDS)
        else:
            thread.join()
