"""Measures what a process needs for open pages of people, and for idle connectors of agents."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from websockets.asyncio.client import ClientConnection, connect

from bench import pages
from bench.tools import processes, servers
from bench.tools.results import Row

AGENTS = ["bench", "bench-2", "bench-3", "bench-4"]
CONNECTORS = 200
PEOPLE, PAGES_OF_A_PERSON = 100, 6  # so many pages of a person are notified at once
SETTLE_SECONDS = 20  # the server's first ping to each connector is over
HEARTBEAT_SECONDS = 15.0  # as the server asks of connectors
KILOBYTE = 2**10
Open = Callable[[AsyncExitStack], Awaitable[int]]
# The first frame of a connector (client/wake_client/connector/frames.py).
HELLO = {
    "type": "hello",
    "protocol": 1,
    "agents": [],
    "machine": "bench",
    "first": True,
    "capacity": 1,
    "last_dispatch_ids": [],
    "last_lease_ids": [],
}


def measure(*, seconds: float) -> list[Row]:
    """Measures each kind for so many seconds, and before that the server without any."""
    keys = servers.make_database(*AGENTS, deliveries=100)
    for agent in AGENTS:
        servers.manage("publish_agent", agent)
    cookies = json.loads(servers.run("-m", "bench.scenes.many_people", "home", str(PEOPLE)))
    processes.allow_open_files(4_000)
    streaming = "wake.asgi:application", "--interface", "asginl", "--ws", "--backpressure", "4000"
    with servers.granian(*streaming) as (port, pid):

        async def open_pages(stack: AsyncExitStack) -> int:
            for cookie in cookies * PAGES_OF_A_PERSON:
                await _open_page(stack, port, cookie)
            return len(cookies) * PAGES_OF_A_PERSON

        async def open_connectors(stack: AsyncExitStack) -> int:
            for number in range(CONNECTORS):
                await _open_connector(stack, port, keys[number % len(keys)])
            return CONNECTORS

        kinds = {"open page": open_pages, "connector": open_connectors}
        return [
            row
            for name, open in kinds.items()
            for row in asyncio.run(_measure(name, open, pid, seconds=seconds))
        ]


async def _measure(name: str, open: Open, pid: int, *, seconds: float) -> list[Row]:
    idle_memory, idle_cpu = await _idle(pid, seconds)
    async with AsyncExitStack() as stack:
        count = await open(stack)
        memory, cpu = await _idle(pid, seconds)
    each = (memory - idle_memory) / KILOBYTE / count
    share = (cpu - idle_cpu) * 1e3 / count
    note = f"of {count}; the process has {idle_memory / 2**20:.0f} MB without any"
    return [
        Row(f"{name}, memory", each, None, unit=" kB", note=note),
        Row(f"{name}, CPU", share, None, unit=" ms/s", note="of a core, with PostgreSQL's part"),
    ]


async def _idle(pid: int, seconds: float) -> tuple[int, float]:
    """Returns the bytes of the server at the end, and its CPU seconds for each second."""
    await asyncio.sleep(SETTLE_SECONDS)
    before, began = _cpu(pid), time.monotonic()
    await asyncio.sleep(seconds)
    cpu = (_cpu(pid) - before) / (time.monotonic() - began)
    return processes.memory_of_tree(pid), cpu


def _cpu(pid: int) -> float:
    return processes.cpu_of_tree(pid) + processes.cpu_of_database(servers.DATABASE)


async def _open_page(stack: AsyncExitStack, port: int, cookie: str) -> None:
    """Opens the stream of a page that was made now, and reads its heartbeats."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    stack.callback(writer.close)
    now = time.time_ns() // 1_000
    writer.write(pages.get(f"/live?since={now}", cookie))
    status = await reader.readline()
    if b" 200 " not in status:
        raise SystemExit(f"A page has no stream: {status.decode()}")
    _in_background(stack, _read(reader))


async def _read(reader: asyncio.StreamReader) -> None:
    while await reader.read(65_536):
        pass


async def _open_connector(stack: AsyncExitStack, port: int, key: str) -> None:
    """Connects as `wake connect` does, and stays idle."""
    address = f"ws://127.0.0.1:{port}/connect/v1"
    headers = {"Authorization": f"Bearer {key}"}
    connection = await stack.enter_async_context(
        connect(address, additional_headers=headers, ping_interval=None)
    )
    await connection.send(json.dumps(HELLO | {"instance_id": str(uuid.uuid4())}))
    if json.loads(await connection.recv()).get("type") != "welcome":
        raise SystemExit("The server does not welcome a connector.")
    _in_background(stack, _answer_pings(connection))
    _in_background(stack, _send_heartbeats(connection))


async def _answer_pings(connection: ClientConnection) -> None:
    async for text in connection:
        if json.loads(text).get("type") == "ping":
            await connection.send(json.dumps({"type": "pong"}))


async def _send_heartbeats(connection: ClientConnection) -> None:
    while True:
        await asyncio.sleep(HEARTBEAT_SECONDS)
        await connection.send(json.dumps({"type": "heartbeat", "dispatch_ids": []}))


def _in_background(stack: AsyncExitStack, work: Awaitable[None]) -> None:
    task = asyncio.ensure_future(work)
    stack.callback(task.cancel)
