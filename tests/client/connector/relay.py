"""Plays the relay's side of a WebSocket, frame by frame."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from wake_client.connector.command import Command
from wake_client.connector.connector import Connector
from wake_client.connector.journal import Journal
from wake_client.connector.session import stay_connected

CLIENT = Path(__file__).parents[3] / "client"
KEY = "wk_live_made_up_for_this_test"
PATIENCE_SECONDS = 60

Frame = dict[str, Any]


class Relay:
    """Answers hello with a welcome. The test sends everything else."""

    def __init__(self) -> None:
        self.url = ""
        self.refuses: HTTPStatus | None = None
        self.redirects_to = ""
        self.welcome: Frame = {
            **{"type": "welcome", "protocol": 1, "agent": "painter"},
            **{"heartbeat_s": 0.1, "lease_s": 60},
        }
        self.agent = ""  # the agent's id, which a server of version 0.2 does not send
        self.keys: list[str | None] = []
        self._received: asyncio.Queue[Frame] = asyncio.Queue()
        self._connection: ServerConnection
        self._greeted = asyncio.Event()

    async def next(self, kind: str) -> Frame:
        """Returns the next frame of this type, and drops the frames before it."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                frame = await self._received.get()
                if frame["type"] == kind:
                    return frame

    async def nothing_but(self, *kinds: str, seconds: float) -> None:
        """Fails if a frame of another type comes within so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    frame = await self._received.get()
                    assert frame["type"] in kinds, frame
        except TimeoutError:
            pass

    async def send(self, frame: Frame) -> None:
        """Sends a frame, after a connector has come."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._greeted.wait()
        await self._connection.send(json.dumps(frame))

    async def lose(self, code: int = 1012) -> None:
        self._greeted.clear()
        await self._connection.close(code)

    def forget(self) -> None:
        """Forgets the connector that was killed, so that `send` waits for the next one."""
        self._greeted.clear()
        self._received = asyncio.Queue()

    def refuse(self, connection: ServerConnection, request: Request) -> Response | None:
        if request.path == "/connect/v1/agent" and self.refuses is None:
            status = HTTPStatus.OK if self.agent else HTTPStatus.NOT_FOUND
            return connection.respond(status, json.dumps({"id": self.agent}))
        self.keys.append(request.headers.get("Authorization"))
        if self.refuses is None:
            return None
        response = connection.respond(self.refuses, "")
        if self.redirects_to:
            response.headers["Location"] = self.redirects_to
        return response

    async def converse(self, connection: ServerConnection) -> None:
        self._connection = connection
        async for text in connection:
            frame = json.loads(text)
            if frame["type"] == "hello":
                await connection.send(json.dumps(self.welcome))
                self._greeted.set()
            await self._received.put(frame)


@asynccontextmanager
async def a_relay() -> AsyncIterator[Relay]:
    relay = Relay()
    async with serve(
        relay.converse, "127.0.0.1", 0, process_request=relay.refuse, max_size=None
    ) as server:
        (socket,) = server.sockets
        relay.url = f"http://127.0.0.1:{socket.getsockname()[1]}"
        yield relay


@asynccontextmanager
async def a_connector(
    relay: Relay, journal: Path, *argv: str, capacity: int = 2, once: bool = False
) -> AsyncIterator[Connector]:
    """Runs a connector in this process."""
    with Journal(journal) as opened:
        command = Command(argv, {"PATH": os.environ["PATH"]})
        connector = Connector(command, opened, capacity=capacity, machine="here", once=once)
        work = asyncio.create_task(stay_connected(connector, relay.url, KEY))
        try:
            yield connector
        finally:
            work.cancel()
            await asyncio.gather(work, connector.end(), return_exceptions=True)


def _hears_of_its_terminal() -> None:
    """Restores SIGHUP. Under nohup, SIGHUP is ignored, and `wake connect` would inherit this from
    the tests."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@asynccontextmanager
async def a_process(
    url: str, journal: Path, *argv: str, options: tuple[str, ...] = ()
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Starts `wake connect` as people do, and kills it at the end if it still runs. The log is a
    file beside the journal, because the commands that `wake connect` leaves behind would hold a
    pipe open."""
    with journal.with_suffix(".log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "wake_client", "connect", "--url", url),
            *("--journal", str(journal), *options, "--", *argv),
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(CLIENT), "WAKE_API_KEY": KEY},
            stderr=log,
            preexec_fn=_hears_of_its_terminal,
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def ended(process: asyncio.subprocess.Process) -> int:
    """Returns the exit status of the process, and fails if the process takes long."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await process.wait()


def task_frame(dispatch_id: str = "", **more: Any) -> Frame:
    """Returns a task as the relay sends it, with a new lease each time."""
    message = {"role": "user", "messageId": "m-1", "parts": [{"type": "text", "text": "Paint."}]}
    return {
        "type": "task",
        "dispatch_id": dispatch_id or str(uuid.uuid4()),
        "lease_id": str(uuid.uuid4()),
        "agent": "painter",
        "task": {"id": "t-1", "state": "submitted"},
        "taskId": "t-1",
        "contextId": "c-1",
        "messageId": "m-1",
        "message": message,
        "messages": [message],
        "decision": None,
        "attempt": 1,
        "timeout_s": 60,
        **more,
    }
