"""A connector that once had to use long polls goes back to a WebSocket."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import WSMsgType, web

from tests.client.connector.relay import KEY, PATIENCE_SECONDS, Frame, task_frame
from tests.client.connector.scenarios import scenario
from wake_client.connector.command import Command
from wake_client.connector.connector import Connector
from wake_client.connector.journal import Journal
from wake_client.connector.session import stay_connected

WELCOME = {"type": "welcome", "protocol": 1, "agent": "painter", "heartbeat_s": 0.1}
DONE = [sys.executable, "-c", "print('done')"]


class MovingRelay:
    """Takes both transports on one port. While `blocks`, it answers 404 to a WebSocket. While
    `loses`, it opens one and drops its frames, as some proxies do."""

    def __init__(self) -> None:
        self.blocks = True
        self.loses = False
        self.received: asyncio.Queue[tuple[str, Frame]] = asyncio.Queue()
        self.to_send: asyncio.Queue[Frame] = asyncio.Queue()
        self.opened = asyncio.Event()

    async def socket(self, request: web.Request) -> web.StreamResponse:
        if self.blocks:
            raise web.HTTPNotFound
        socket = web.WebSocketResponse(autoping=not self.loses)
        await socket.prepare(request)
        self.opened.set()
        sending = asyncio.create_task(self._send(socket))
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await self._take("WebSocket", message.json(), socket)
        sending.cancel()
        return socket

    async def poll(self, request: web.Request) -> web.Response:
        frames = (await request.json())["frames"]
        for frame in frames:
            await self.received.put(("poll", frame))
        answers = [WELCOME for frame in frames if frame["type"] == "hello"]
        if "wait" in request.query:
            await asyncio.sleep(0.05)
        return web.json_response({"frames": answers})

    async def next(self, kind: str) -> tuple[str, Frame]:
        """Returns the next frame of this type, and how it came."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                transport, frame = await self.received.get()
                if frame["type"] == kind:
                    return transport, frame

    async def _take(self, transport: str, frame: Frame, socket: web.WebSocketResponse) -> None:
        await self.received.put((transport, frame))
        if frame["type"] == "hello":
            await socket.send_str(json.dumps(WELCOME))

    async def _send(self, socket: web.WebSocketResponse) -> None:
        while True:
            await socket.send_str(json.dumps(await self.to_send.get()))


@asynccontextmanager
async def a_connected(journal: Path) -> AsyncIterator[MovingRelay]:
    """Runs a connector that tries a WebSocket again ten times a second."""
    relay = MovingRelay()
    app = web.Application()
    app.router.add_get("/connect/v1", relay.socket)
    app.router.add_post("/connect/v1/poll", relay.poll)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0]
    with Journal(journal) as opened:
        command = Command(DONE, {"PATH": os.environ["PATH"]})
        connector = Connector(command, opened, capacity=2, machine="here")
        url = f"http://{host}:{port}"
        work = asyncio.create_task(stay_connected(connector, url, KEY, again_seconds=0.1))
        try:
            yield relay
        finally:
            work.cancel()
            await asyncio.gather(work, connector.end(), return_exceptions=True)
            await runner.cleanup()


@scenario
async def test_a_connector_leaves_long_polls_when_a_websocket_opens_again(journal: Path) -> None:
    async with a_connected(journal) as relay:
        first, _ = await relay.next("hello")
        relay.blocks = False
        second, hello = await relay.next("hello")
        await relay.to_send.put(task_frame("run-1"))
        third, result = await relay.next("result")

    assert [first, second, third] == ["poll", "WebSocket", "WebSocket"]
    assert hello["first"] is False
    assert result["dispatch_id"] == "run-1"


@scenario
async def test_a_websocket_that_loses_frames_is_left_alone(journal: Path) -> None:
    async with a_connected(journal) as relay:
        await relay.next("hello")
        relay.loses, relay.blocks = True, False
        async with asyncio.timeout(PATIENCE_SECONDS):
            await relay.opened.wait()
        heartbeats = [await relay.next("heartbeat") for _ in range(3)]

    assert {transport for transport, _ in heartbeats} == {"poll"}
