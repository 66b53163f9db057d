"""Runs a whole server for one test: data folder, database and processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from psycopg import sql

from tests.fixtures.migrated import migrated

HOME = Path(__file__).parents[3]
AGENT = "research-agent-01"

# A process with the world's settings runs this, and then each script that it gets, as a web server
# would.
INSIDE = """
import json, sys, time, traceback
import django
django.setup()
from accounts.models import *
from wake import signals
from wake.deliveries import deliver
from wake.models import *
from wake.responses import respond
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

def answered(url, status="approved", **words):
    agent = Agent.objects.select_related("team").get()
    at = timezone.now()
    delivery = deliver(agent, agent_id=agent.agent_id, provider="claude", type="question",
        headline="Ship it?", summary="Everything is green.", callback_webhook=url, at=at).delivery
    respond(delivery, by=User.objects.get(), status=status, content_hash=delivery.content_hash,
        at=at, **words)
    return str(delivery.pk)

said = sys.stdout
sys.stdout = sys.stderr
names = globals()
for line in sys.stdin:
    names["result"] = None
    try:
        exec(json.loads(line), names)
        answer = {"result": names["result"]}
    except BaseException:
        answer = {"error": traceback.format_exc()}
    print(json.dumps(answer, default=str), file=said, flush=True)
if connection.vendor == "postgresql":
    connection.close_pool()  # else its threads are waited for
"""
SET_UP = f"""
import io
told = io.StringIO()
call_command("issue_key", {AGENT!r}, "--json", stdout=told, stderr=io.StringIO())
call_command("add_person", "alice@example.com", "--role", "owner", stderr=io.StringIO())
result = json.loads(told.getvalue())
"""
CELERY = ("celery", "--quiet", "-A", "wake.server.work.celery")
WORKER = "worker --without-gossip --without-mingle --concurrency 2 --loglevel INFO --pool prefork"
SWEEPER = "wake.server.work.sweeper"  # without Redis, it does the work of worker and beat


@dataclass
class World:
    folder: Path
    redis_url: str = ""
    broker_url: str = ""  # of RabbitMQ. Without it, Redis is the broker
    hold_seconds: int = 1
    server: str = field(default_factory=lambda: os.environ.get("DATABASE_URL", ""))
    database_url: str = ""
    # The started processes, each with Python's module and its arguments.
    running: dict[subprocess.Popen[bytes], tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        source = migrated(self.server)
        if self.server:
            self.database = f"test_wake_world_{uuid4().hex[:12]}"
            self._on_server("CREATE DATABASE {} TEMPLATE {}", self.database, source)
            self.database_url = urlsplit(self.server)._replace(path=f"/{self.database}").geturl()
            self.prepare_database()
        else:
            shutil.copy(source, self.folder / "wake.sqlite3")
        self.inside = subprocess.Popen(
            [sys.executable, "-c", INSIDE],
            cwd=HOME,
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.key = self.run(SET_UP)

    def prepare_database(self) -> None:
        """Does nothing here. Tests whose processes connect in another way change `database_url`
        here."""

    @property
    def env(self) -> dict[str, str]:
        ours = {
            "DJANGO_SETTINGS_MODULE": "wake.settings",
            "WAKE_DATA": str(self.folder),
            "WAKE_DEV": "1",
            "WAKE_HOLD_SECONDS": str(self.hold_seconds),
            "WAKE_PASSWORD": "correct horse battery",
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "CELERY_BROKER_URL": self.broker_url,
        }
        return {**os.environ, **ours}

    def run(self, script: str) -> Any:
        """Runs the script in that process, and returns what it left in `result`."""
        assert self.inside.stdin
        assert self.inside.stdout
        self.inside.stdin.write(json.dumps(script) + "\n")
        self.inside.stdin.flush()
        answer = json.loads(self.inside.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def start_worker(self) -> None:
        so_far = self.logs.count(" ready.")
        self.start_unready_worker()
        assert eventually(lambda: self.logs.count(" ready.") > so_far, seconds=60), self.logs

    def start_unready_worker(self) -> None:
        """Starts a worker and does not wait for it, because a worker without a broker is never
        ready."""
        self._start(*((*CELERY, *WORKER.split()) if self.redis_url else (SWEEPER,)))

    def start_beat(self) -> None:
        if self.redis_url:
            self._start(*CELERY, "beat", "--loglevel", "INFO")

    def _start(self, *command: str) -> None:
        name = "beat" if "beat" in command else "worker"
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=HOME,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        self.running[process] = command

    def start_ended(self) -> int:
        """Restarts the processes that ended by themselves, as compose does, and returns how many
        there were."""
        ended = [process for process in self.running if process.poll() is not None]
        for process in ended:
            self._start(*self.running.pop(process))
        return len(ended)

    def stop(self, number: int = signal.SIGTERM) -> None:
        for process in self.running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        for process in self.running:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.running.clear()

    @property
    def logs(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("*.log")))

    def end(self) -> None:
        self.stop(signal.SIGKILL)
        self.inside.communicate()
        if self.server:
            self._on_server("DROP DATABASE {} WITH (FORCE)", self.database)

    def _on_server(self, statement: LiteralString, *names: str) -> None:
        with closing(psycopg.connect(self.server, autocommit=True)) as server:
            server.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def eventually(condition: Callable[[], Any], *, seconds: float) -> bool:
    """Returns whether the condition became true in that time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.05)
    return False


class Wire:
    """Represents a connection to a server that can be cut, frozen and opened again, like a real
    one."""

    def __init__(self, host: str, port: int) -> None:
        self.target = (host, port)
        self.flowing = threading.Event()
        self.ends: list[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.is_listening = True
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def freeze(self) -> None:
        """Accepts connections without any response."""
        self.flowing.clear()
        self._listen()

    def open(self) -> None:
        self.flowing.set()
        self._listen()

    def cut(self) -> None:
        """Refuses new connections and closes the existing ones."""
        self.is_listening = False
        for end in (self.listener, *self.ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self.ends.clear()

    def _listen(self) -> None:
        if not self.is_listening:
            self.listener = socket.create_server(("127.0.0.1", self.port))
            self.is_listening = True
            threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(self.target)
                self.ends += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(65_536):
                self.flowing.wait()
                sink.sendall(part)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def through(wire: Wire, url: str) -> str:
    """Returns the URL of the same server, at the near end of the wire."""
    server = urlsplit(url)
    credentials, at, _ = server.netloc.rpartition("@")
    return server._replace(netloc=f"{credentials}{at}127.0.0.1:{wire.port}").geturl()
