"""Notifies a worker to send due callbacks now, without making the caller wait for the broker."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)


class WakeUp:
    """Calls `send` from its own thread, once for all requests that came meanwhile.

    So a broker that refuses connections, hangs or is slow does not delay the caller. If a wake-up
    is lost, the next sweep sends the due callbacks.
    """

    def __init__(self, send: Callable[[], object]) -> None:
        self._send = send
        self._reset()
        os.register_at_fork(after_in_child=self._reset)  # a forked process has only its own thread

    def _reset(self) -> None:
        self._requested = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def request(self) -> None:
        self._requested.set()
        if (self._thread is None or not self._thread.is_alive()) and self._starting.acquire(
            blocking=False
        ):
            try:
                self._thread = threading.Thread(target=self._run, name="wake-up", daemon=True)
                self._thread.start()
            except RuntimeError as error:  # no thread can start, or the process is ending
                log.warning("No wake-up can be sent: %s", error)
            finally:
                self._starting.release()

    def _run(self) -> None:
        while self._requested.wait():
            self._requested.clear()
            try:
                self._send()
            except Exception as error:
                log.warning("The wake-up was not sent; the next sweep sends what is due: %s", error)
