"""What Celery runs: one line each, safe to run twice. And the bell that calls for the first."""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

from celery import shared_task
from django.conf import settings
from django.dispatch import receiver

from wake import breakers, deadlines, outbox, responses, retention, signals
from wake.clock import database_now
from wake.models import Heartbeat

log = logging.getLogger(__name__)

STALE_AFTER_SECONDS = 30


@shared_task
def send_due_callbacks() -> None:
    outbox.send_due()


@shared_task
def take_up_orphans() -> None:
    breakers.take_up_orphans(at=database_now())


@shared_task
def release_due_responses() -> None:
    responses.release_due(at=database_now())


@shared_task
def time_out_overdue() -> None:
    deadlines.time_out_overdue(at=database_now())


@shared_task
def erase_old_content() -> None:
    retention.erase_old(at=database_now())


@shared_task
def beat() -> None:
    queue = settings.CELERY_TASK_DEFAULT_QUEUE
    Heartbeat.objects.update_or_create(name=queue, defaults={"at": database_now()})


class Bell:
    """Rings for `send_due_callbacks` from a thread of its own, once for all that asked meanwhile: a
    broker that is refused, frozen or slow costs whoever asks nothing. Nothing is lost with it: a
    sweep sends what the bell missed."""

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._forget)  # a fork has no threads but its own

    def _forget(self) -> None:
        self._wanted = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def ring(self) -> None:
        self._wanted.set()
        if (self._thread is None or not self._thread.is_alive()) and self._starting.acquire(
            blocking=False
        ):
            try:
                self._thread = threading.Thread(target=self._run, name="bell", daemon=True)
                self._thread.start()
            except RuntimeError as error:  # no more threads, or the process is going down
                log.warning("The bell cannot ring: %s", error)
            finally:
                self._starting.release()

    def _run(self) -> None:
        while self._wanted.wait():
            self._wanted.clear()
            try:
                send_due_callbacks.apply_async(expires=STALE_AFTER_SECONDS)
            except Exception as error:
                log.warning("The bell did not ring, the sweep will do: %s", error)


_bell = Bell()


@receiver(signals.work_due, dispatch_uid="wake.jobs.ring")
def ring(**_: Any) -> None:
    _bell.ring()
