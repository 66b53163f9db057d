"""Runs the real web server (granian) in another process on the test's database."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
from django.db import connection

from wake.server.run import roles

PATIENCE_SECONDS = 90  # a busy machine needs ten to import Django


class Server:
    """One port; `kill` is -9 for all of it, and `start` may be called again afterwards."""

    def __init__(self, interface: str, processes: int = 1, /, **environment: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.origin = f"http://127.0.0.1:{port}"
        module = "web" if interface == "wsgi" else interface
        command = roles.granian(module, "127.0.0.1", port, processes)
        self.command = [*command, "--log-level", "critical"]
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.served_settings",
            "WAKE_TEST_DATABASE": str(connection.settings_dict["NAME"]),
            "REDIS_URL": "",
            **environment,
        }

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command,
            cwd=Path(__file__).parent.parent,
            env=self.environment,
            start_new_session=True,
        )
        until = time.monotonic() + PATIENCE_SECONDS
        # One client, because each one reads the certificates of the system.
        with httpx.Client(base_url=self.origin, timeout=5) as client:
            while time.monotonic() < until and self.process.poll() is None:
                try:
                    client.get("/wake/v1")
                except httpx.TransportError:
                    time.sleep(0.1)
                else:
                    return
        self.kill()
        raise TimeoutError(f"Nothing answers at {self.origin}.")

    def kill(self) -> None:
        with suppress(ProcessLookupError):  # it may have ended by itself
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.kill()


@contextmanager
def served(interface: str, **environment: str) -> Iterator[str]:
    """Its origin. `interface` is asgi or wsgi, as `up stream` and `up web` serve them; needs the
    rows of the test to be committed."""
    server = Server(interface, **environment)
    server.start()
    try:
        yield server.origin
    finally:
        server.stop()
