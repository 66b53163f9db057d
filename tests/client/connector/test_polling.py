"""A connector works on a network that blocks WebSockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.client.connector.relay import KEY, PATIENCE_SECONDS, Frame, task_frame
from wake_client.connector import transports
from wake_client.connector.command import Command
from wake_client.connector.connector import Connector
from wake_client.connector.journal import Journal
from wake_client.connector.session import stay_connected
from wake_client.connector.transports import KeyNotValid, Refused, Replaced


class Server(ThreadingHTTPServer):
    """Closes only after every answer, so that no answer is written during a later test."""

    daemon_threads = False


class PollingRelay:
    """Answers 404 to a WebSocket, and frames to polls. A poll waits for a tenth of a second at
    most."""

    def __init__(self) -> None:
        self.received: queue.Queue[Frame] = queue.Queue()
        self.lengths: list[int] = []
        self.instances: set[str | None] = set()
        self.status = 200
        self.fails_once = False
        self.error: Frame | None = None
        self.other_body: Frame | None = None
        self.redirects_to = ""
        self.heartbeat_s = 15.0
        self.takes_results = threading.Event()
        self.takes_results.set()
        self._waiting: queue.Queue[Frame] = queue.Queue()
        relay = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_error(404)

            def do_POST(self) -> None:
                relay.answer(self)

            def log_message(self, *ignored: object) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers["Content-Length"])
        self.lengths.append(length)
        body = json.loads(handler.rfile.read(length))
        assert handler.headers["Authorization"] == f"Bearer {KEY}"
        self.instances.add(handler.headers["X-Wake-Instance"])
        url = urlsplit(handler.path)
        assert url.path == "/connect/v1/poll"
        frames = [self._welcome() for frame in body["frames"] if frame["type"] == "hello"]
        for frame in body["frames"]:
            self.received.put(frame)
            if frame["type"] == "result":
                self.takes_results.wait(PATIENCE_SECONDS)
        waits = "wait" in parse_qs(url.query)
        with contextlib.suppress(queue.Empty):
            frames.append(self._waiting.get(timeout=0.1 if waits else 0.001))
        status, self.status = self.status, 200 if self.fails_once else self.status
        frames = [self.error] if self.error else frames
        answer = {"frames": frames} if self.other_body is None else self.other_body
        content = json.dumps(answer).encode()
        handler.send_response(status)
        if self.redirects_to:
            handler.send_header("Location", self.redirects_to)
        handler.send_header("Content-Length", str(len(content)))
        # The connector hangs up on polls when its task is done.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            handler.end_headers()
            handler.wfile.write(content)

    def send(self, frame: Frame) -> None:
        self._waiting.put(frame)

    def next(self, kind: str) -> Frame:
        while True:
            frame = self.received.get(timeout=PATIENCE_SECONDS)
            if frame["type"] == kind:
                return frame

    def stop(self) -> None:
        self.takes_results.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _welcome(self) -> Frame:
        return {
            "type": "welcome",
            "protocol": 1,
            "heartbeat_s": self.heartbeat_s,
            "agent": "painter",
        }


@pytest.fixture
def relay() -> Iterator[PollingRelay]:
    relay = PollingRelay()
    yield relay
    relay.stop()


def connect(relay: PollingRelay, path: Path, *argv: str) -> Any:
    """Runs one task in another thread, and returns a function that waits for it."""
    problems: list[Exception] = []

    async def run() -> None:
        with Journal(path) as journal:
            command = Command(argv, {"PATH": "/usr/bin:/bin"})
            connector = Connector(command, journal, capacity=1, machine="here", once=True)
            try:
                await stay_connected(connector, relay.url, KEY)
            except (KeyNotValid, Refused, Replaced) as problem:
                problems.append(problem)

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()

    def join() -> list[Exception]:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()
        return problems

    return join


def test_a_task_is_run_over_long_polls(relay: PollingRelay, tmp_path: Path) -> None:
    task = task_frame()

    join = connect(relay, tmp_path / "journal", "echo", "red")
    hello = relay.next("hello")
    relay.send(task)
    relay.next("ack")
    result = relay.next("result")
    relay.send({"type": "done", "dispatch_id": task["dispatch_id"]})

    assert join() == []
    assert (result["state"], result["text"]) == ("completed", "red")
    assert relay.instances == {hello["instance_id"]}


def test_a_failed_poll_is_repeated(relay: PollingRelay, tmp_path: Path) -> None:
    relay.status, relay.fails_once = 503, True
    task = task_frame()

    join = connect(relay, tmp_path / "journal", "echo", "red")
    relay.next("hello")
    relay.next("hello")
    relay.send(task)
    result = relay.next("result")
    relay.send({"type": "done", "dispatch_id": task["dispatch_id"]})

    assert join() == []
    assert result["text"] == "red"


def test_a_heartbeat_does_not_wait_behind_a_long_result(
    relay: PollingRelay, tmp_path: Path
) -> None:
    relay.heartbeat_s = 0.05
    relay.takes_results.clear()
    task = task_frame()

    join = connect(relay, tmp_path / "journal", "sh", "-c", "yes | head -c 1000000")
    relay.next("hello")
    relay.send(task)
    relay.next("result")
    beat = relay.next("heartbeat")
    relay.send({"type": "done", "dispatch_id": task["dispatch_id"]})
    relay.takes_results.set()

    assert join() == []
    assert beat["dispatch_ids"] == [task["dispatch_id"]]


@pytest.mark.parametrize(("status", "problem"), [(401, KeyNotValid), (403, Refused)])
def test_it_ends_when_the_relay_refuses_it(
    relay: PollingRelay, tmp_path: Path, status: int, problem: type[Exception]
) -> None:
    relay.status = status

    join = connect(relay, tmp_path / "journal", "echo", "red")

    assert [type(one) for one in join()] == [problem]


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (404, None, "not a Wake server"),
        (501, None, "not a Wake server"),
        (
            403,
            {"error": {"message": "Browsers cannot use this endpoint."}},
            "Browsers cannot use this endpoint.",
        ),
        (301, None, "points to https://elsewhere.example.com"),
    ],
)
def test_it_explains_why_there_is_no_relay(
    relay: PollingRelay, tmp_path: Path, status: int, error: Frame | None, expected: str
) -> None:
    relay.status, relay.other_body = status, error or {}
    relay.redirects_to = "https://elsewhere.example.com" if status == 301 else ""

    join = connect(relay, tmp_path / "journal", "echo", "red")

    assert [expected in str(one) for one in join()] == [True]


def test_it_ends_when_a_later_connector_replaces_it(relay: PollingRelay, tmp_path: Path) -> None:
    relay.status = 409
    relay.error = {"type": "error", "code": "replaced", "message": "A newer one is there."}

    join = connect(relay, tmp_path / "journal", "echo", "red")

    assert [type(one) for one in join()] == [Replaced]


def test_many_frames_are_split_into_short_requests(relay: PollingRelay, tmp_path: Path) -> None:
    answers = [transports.MAX_BATCH_BYTES // 2] * 3
    with Journal(tmp_path / "journal") as journal:
        for number, length in enumerate(answers):
            journal.start(str(number))
            journal.finish(str(number), "lease", {"state": "completed", "text": "x" * length})
    task = task_frame()

    join = connect(relay, tmp_path / "journal", "echo", "red")
    run_ids = [relay.next("result")["dispatch_id"] for _ in answers]
    for run_id in run_ids:
        relay.send({"type": "done", "dispatch_id": run_id})
    relay.send(task)
    relay.next("ack")
    relay.send({"type": "done", "dispatch_id": relay.next("result")["dispatch_id"]})

    assert join() == []
    assert run_ids == ["0", "1", "2"]
    assert max(relay.lengths) < transports.MAX_BATCH_BYTES


def test_a_request_has_no_more_frames_than_the_relay_takes() -> None:
    counts = []

    def answer(request: httpx.Request) -> httpx.Response:
        counts.append(len(json.loads(request.content)["frames"]))
        return httpx.Response(200, json={"frames": []})

    async def send() -> None:
        mock = httpx.MockTransport(answer)
        async with httpx.AsyncClient(transport=mock, base_url="https://wake.example") as http:
            pongs = [{"type": "pong"}] * (transports.MAX_BATCH_FRAMES + 1)
            await transports.PollingTransport(http).send(pongs)

    asyncio.run(send())

    assert counts == [transports.MAX_BATCH_FRAMES, 1]


def test_it_sends_drain_also_when_nothing_runs(relay: PollingRelay, tmp_path: Path) -> None:
    async def come_and_go() -> None:
        with Journal(tmp_path / "journal") as journal:
            command = Command(["true"], {"PATH": "/usr/bin:/bin"})
            connector = Connector(command, journal, capacity=1, machine="here")
            staying = asyncio.create_task(stay_connected(connector, relay.url, KEY))
            while len(relay.lengths) < 3:  # the connector's hello, and then the polls that wait
                await asyncio.sleep(0.01)
            connector.drain()
            await staying

    asyncio.run(come_and_go())

    assert relay.next("drain") == {"type": "drain"}
