"""Listens to a stream of this process, as an ASGI server would send it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator

from relay.streams import places
from tests.relay.calling import Caller
from wake.asgi import application

PATIENCE_SECONDS = 20
SetTimes: TypeAlias = Callable[..., None]
HEARTBEAT = "heartbeat"
SEND = {"1.0": "SendStreamingMessage", "0.3": "message/stream"}
SUBSCRIBE = {"1.0": "SubscribeToTask", "0.3": "tasks/resubscribe"}


@dataclass
class Event:
    """Holds one event: its id, and the answer in JSON-RPC."""

    id: str
    answer: dict[str, Any]

    @property
    def result(self) -> Any:
        return self.answer["result"]

    @property
    def kind(self) -> str:
        """Returns the name of the change in either version."""
        names = {"task", "message", "statusUpdate", "artifactUpdate"}
        older = {"status-update": "statusUpdate", "artifact-update": "artifactUpdate"}
        if "error" in self.answer:
            return "error"
        (name,) = (self.result.keys() & names) or {self.result.get("kind")}
        return older.get(name, str(name))

    @property
    def change(self) -> dict[str, Any]:
        changed: dict[str, Any] = self.result.get(self.kind, self.result)
        return changed

    @property
    def state(self) -> str:
        state: str = self.change["status"]["state"]
        return state.removeprefix("TASK_STATE_").lower().replace("-", "_")

    @property
    def texts(self) -> list[str]:
        change = self.change
        holder = change.get("artifact") or change.get("status", {}).get("message") or change
        return [part["text"] for part in holder["parts"]]


def read(text: str) -> list[Event | str]:
    """Reads the stream into whole events, as the HTML standard describes."""
    events: list[Event | str] = []
    for block in text.split("\n\n"):
        fields: dict[str, str] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        if "data" in fields:
            events.append(Event(fields.get("id", ""), json.loads(fields["data"])))
        elif block:
            events.append(HEARTBEAT)
    return events


class Listener:
    """Makes one request of a caller, and reads what is sent in answer."""

    def __init__(self, caller: Caller, method: str, params: Any, **headers: str) -> None:
        self.caller = caller
        self.body = {"jsonrpc": "2.0", "id": "req-1", "method": method, "params": params}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {"Host": "testserver", "Content-Type": "application/json"} | caller.headers | given
        scope = {
            **{"type": "http", "http_version": "1.1", "method": "POST", "scheme": "http"},
            **{"path": caller.path, "raw_path": caller.path.encode(), "query_string": b""},
            **{"client": ("127.0.0.1", 5), "server": ("testserver", 80)},
            "headers": [(name.lower().encode(), text.encode()) for name, text in given.items()],
        }
        self.socket = ApplicationCommunicator(application, scope)
        self.headers: dict[str, str] = {}
        self.status = 0
        self._events: list[Event | str] = []

    async def open(self) -> Listener:
        body = json.dumps(self.body).encode()
        await self.socket.send_input({"type": "http.request", "body": body})
        start = await self.socket.receive_output(PATIENCE_SECONDS)
        self.status = start["status"]
        self.headers = {name.decode().lower(): text.decode() for name, text in start["headers"]}
        return self

    @property
    def is_stream(self) -> bool:
        return self.headers["content-type"] == "text/event-stream"

    async def answer(self) -> Any:
        """Returns the JSON of a refusal. A client of 0.3 gets it as the only event of a stream."""
        is_older = self.caller.version == "0.3"
        assert self.is_stream == is_older
        message = await self.socket.receive_output(PATIENCE_SECONDS)
        await self.socket.wait(PATIENCE_SECONDS)
        if not is_older:
            return json.loads(message["body"])
        (only,) = read(message["body"].decode())
        assert isinstance(only, Event)
        return only.answer

    async def next(self) -> Any:
        """Returns the next event or heartbeat, or None at the end."""
        while not self._events:
            message = await self.socket.receive_output(PATIENCE_SECONDS)
            self._events = read(message["body"].decode())
            if not message.get("more_body", False):
                await self.socket.wait(PATIENCE_SECONDS)
                return None
        return self._events.pop(0)

    async def rest(self) -> list[Any]:
        """Returns all events until the end."""
        events = []
        while (event := await self.next()) is not None:
            if event != HEARTBEAT:
                events.append(event)
        return events

    async def leave(self) -> None:
        """Closes the connection."""
        await self.socket.send_input({"type": "http.disconnect"})
        await self.socket.wait(PATIENCE_SECONDS)


def sending(caller: Caller, text: str = "Hello", /, **more: Any) -> Listener:
    return Listener(caller, SEND[caller.version], caller.sending(text, **more))


def following(caller: Caller, task_id: str, **headers: str) -> Listener:
    return Listener(caller, SUBSCRIBE[caller.version], {"id": task_id}, **headers)


def is_free() -> bool:
    """Says whether all places for streams are free."""
    return not places.places.taken


async def meanwhile(work: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Runs what others do, in a thread with a connection of its own."""
    return await sync_to_async(work, thread_sensitive=True)(*arguments, **named)
