"""A client of a stream over a real connection gets each event once, even if the connection is
cut."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from django.utils import timezone

from relay.models import CallerKey, Card, Task
from tests.fixtures.served import Server
from tests.relay.calling import move
from tests.relay.fake_connector import ask
from tests.wake.server.up import eventually

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.system]
State = Task.State


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server("asgi", WAKE_MAX_STREAMS_OF_A_CALLER="2")
    server.start()
    yield server
    server.kill()


class Follower:
    """Follows a task in a thread as a careful client would. When the stream is cut off, the client
    reconnects with the last id that it has."""

    def __init__(self, server: Server, card: Card, caller_key: CallerKey, task: Task) -> None:
        self.url = f"{server.origin}/{card}"
        self.headers = {
            "A2A-Version": "1.0",
            "Authorization": f"Bearer {caller_key.text}",  # type: ignore[attr-defined]
        }
        self.task = task
        self.last = ""
        self.events: list[tuple[str, Any]] = []
        self.is_over = False
        self.cuts = 0
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def wait(self) -> list[str]:
        """Returns the texts of all events, after the stream has ended."""
        self._thread.join(60)
        assert self.is_over
        return [text_of(result) for _, result in self.events]

    def _follow(self) -> None:
        while not self.is_over:
            try:
                self._listen()
            except httpx.HTTPError:
                self.cuts += 1
                time.sleep(0.2)

    def _listen(self) -> None:
        body = self.subscription()
        headers = self.headers | ({"Last-Event-ID": self.last} if self.last else {})
        with httpx.stream("POST", self.url, json=body, headers=headers, timeout=30) as response:
            name = ""
            for line in response.iter_lines():
                if line.startswith("id: "):
                    name = line.removeprefix("id: ")
                elif line.startswith("data: "):
                    self.last = name
                    answer = json.loads(line.removeprefix("data: "))
                    self.events.append((name, answer["result"]))
        self.is_over = True

    def subscription(self) -> Any:
        params = {"id": str(self.task.pk)}
        return {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": params}


def text_of(result: Any) -> str:
    (change,) = result.values()
    message = change["status"].get("message")
    return str(message["parts"][0]["text"] if message else change["status"]["state"])


def begun(card: Card, caller_key: CallerKey) -> Task:
    return ask(card, caller_key, at=timezone.now())


def say(task: Task, text: str, to: Task.State = State.WORKING) -> None:
    move(str(task.pk), to, text)


def test_a_server_that_is_killed_costs_no_event_and_repeats_none(
    server: Server, card: Card, caller_key: CallerKey
) -> None:
    task = begun(card, caller_key)
    follower = Follower(server, card, caller_key, task)
    eventually(lambda: follower.events)
    say(task, "One")
    eventually(lambda: len(follower.events) == 2)

    server.kill()  # sends SIGKILL
    say(task, "Two")
    say(task, "Three")
    server.start()
    say(task, "Four")
    say(task, "Done.", State.COMPLETED)

    assert follower.wait() == ["TASK_STATE_SUBMITTED", "One", "Two", "Three", "Four", "Done."]
    assert follower.cuts
    assert [name for name, _ in follower.events] == [f"{task.pk}:{n}" for n in range(1, 7)]


def test_a_server_that_is_stopped_lets_its_streams_go(
    server: Server, card: Card, caller_key: CallerKey
) -> None:
    task = begun(card, caller_key)
    follower = Follower(server, card, caller_key, task)
    eventually(lambda: follower.events)

    server.stop()
    assert server.process.returncode == 0, "It had to be killed."
    say(task, "One")
    server.start()
    say(task, "Done.", State.COMPLETED)

    assert follower.wait() == ["TASK_STATE_SUBMITTED", "One", "Done."]


def test_a_connection_that_is_cut_gives_its_place_back(
    server: Server, card: Card, caller_key: CallerKey
) -> None:
    """A caller has two places here."""
    task = begun(card, caller_key)

    for _ in range(6):
        connection = eventually(lambda: stream_of(server, card, caller_key, task), within=10)
        connection.close()
    follower = Follower(server, card, caller_key, task)
    eventually(lambda: follower.events)
    say(task, "Done.", State.COMPLETED)

    assert follower.wait() == ["TASK_STATE_SUBMITTED", "Done."]


def stream_of(
    server: Server, card: Card, caller_key: CallerKey, task: Task
) -> socket.socket | None:
    """Returns a connection on which a stream has begun, or None if it was refused."""
    host, port = server.origin.removeprefix("http://").split(":")
    params = {"id": str(task.pk)}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": params})
    head = [
        f"POST /{card} HTTP/1.1",
        f"Host: {host}:{port}",
        "A2A-Version: 1.0",
        f"Authorization: Bearer {caller_key.text}",  # type: ignore[attr-defined]
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    connection = socket.create_connection((host, int(port)), timeout=20)
    connection.sendall("\r\n".join([*head, "", body]).encode())
    if b"text/event-stream" in connection.recv(65_536):
        return connection
    connection.close()
    return None
