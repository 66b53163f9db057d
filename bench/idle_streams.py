"""Opens a thousand streams of waiting tasks. Measures what one process needs for these streams, and
how soon a stream learns that its task has ended."""

from __future__ import annotations

import json
import re
import selectors
import socket
import statistics
import time
from dataclasses import dataclass

import psycopg

from bench.tools import http_load, processes, servers
from bench.tools.results import Row

AGENTS = ["bench", "bench-2", "bench-3", "bench-4"]  # each agent has a queue of 500 runs
STREAMS = 1_000
SETTINGS = {"WAKE_MAX_STREAMS_OF_A_CALLER": str(STREAMS)}
HEADERS = {"Content-Type": "application/json", "A2A-Version": "1.0"}
EVENT_ID = re.compile(rb"\bid: ([0-9a-f-]{36}):\d+\n")
ENDED = b"TASK_STATE_CANCELED"
SETTLE_SECONDS = 5
MEGABYTE = 2**20
# The streams are measured for the figures of docs/operations.md.
MEMORY, CPU, DELAY = 60.0, 5.0, 100.0


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls the agents of one team with one key."""

    handle: str
    key: str

    def request(self, agent: str, method: str, params: object) -> bytes:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        path = f"/@{self.handle}/{agent}"
        return http_load.request_bytes("POST", path, self.key, body, HEADERS)


@dataclass(frozen=True, slots=True)
class Stream:
    """Holds an open stream and its task."""

    connection: socket.socket
    agent: str
    task_id: str


def measure(*, seconds: float, ends: int) -> list[Row]:
    """Measures for this many idle seconds, and then ends this many tasks one after the other."""
    servers.make_database(*AGENTS, deliveries=100)
    for agent in AGENTS:
        servers.manage("publish_agent", agent)
    key = servers.manage("issue_caller_key", "bench").strip()
    with psycopg.connect(servers.DATABASE) as connection:
        ((handle,),) = connection.execute("SELECT slug FROM accounts_team").fetchall()
    caller = Caller(handle, key)
    processes.allow_open_files(4 * STREAMS)
    streaming = "wake.asgi:application", "--interface", "asginl", "--backpressure", str(4 * STREAMS)
    with (
        servers.granian(*streaming, settings=SETTINGS) as (port, pid),
        servers.granian("wake.server.web:application", "--interface", "asginl") as (web, _),
    ):
        _end(web, caller, _open(port, caller, AGENTS[0]))  # warms up both servers
        idle_memory, idle_cpu = _idle(pid, [], seconds=seconds)
        streams = [_open(port, caller, AGENTS[n % len(AGENTS)]) for n in range(STREAMS)]
        memory, cpu = _idle(pid, streams, seconds=seconds)
        delays = [_end(web, caller, stream) for stream in streams[:ends]]
        for stream in streams:
            stream.connection.close()
    name = f"{STREAMS:,} idle streams"
    median = statistics.median(delays)
    return [
        Row(
            f"{name}, memory",
            (memory - idle_memory) / MEGABYTE,
            MEMORY,
            unit=" MB",
            note=f"PSS, {idle_memory / MEGABYTE:.0f} MB before",
        ),
        Row(
            f"{name}, CPU",
            cpu * 100,
            CPU,
            unit=" %",
            note=f"of a core with PostgreSQL, {idle_cpu * 100:.1f} % before",
        ),
        Row(
            f"{name}, an event",
            median * 1000,
            DELAY,
            unit=" ms",
            note=f"after another process was asked to end the task; {max(delays) * 1000:.0f} "
            f"ms at most of {ends}",
        ),
    ]


def _open(port: int, caller: Caller, agent: str) -> Stream:
    """Sends a message to an agent without a connector, and returns the stream of its task."""
    message = {"messageId": "bench", "role": "ROLE_USER", "parts": [{"text": "Wait."}]}
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.sendall(caller.request(agent, "SendStreamingMessage", {"message": message}))
    received = b""
    while not (id := EVENT_ID.search(received)):
        received += _receive(connection, received)
    return Stream(connection, agent, id[1].decode())


def _idle(pid: int, streams: list[Stream], *, seconds: float) -> tuple[int, float]:
    """Reads heartbeats for this long. Returns the bytes that the processes need at the end, and the
    CPU seconds for each second."""
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream.connection, selectors.EVENT_READ)
        _read(selector, SETTLE_SECONDS)
        before, began = _cpu(pid), time.monotonic()
        _read(selector, seconds)
        return processes.memory_of_tree(pid), (_cpu(pid) - before) / (time.monotonic() - began)


def _read(selector: selectors.BaseSelector, seconds: float) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        for key, _ in selector.select(left):
            assert isinstance(key.fileobj, socket.socket)  # noqa: S101 - for the type checker
            _receive(key.fileobj, b"")


def _cpu(pid: int) -> float:
    return processes.cpu_of_tree(pid) + processes.cpu_of_database(servers.DATABASE)


def _end(port: int, caller: Caller, stream: Stream) -> float:
    """Cancels the task of a stream; returns after how many seconds the stream reports it."""
    began = time.perf_counter()
    http_load.once(port, caller.request(stream.agent, "CancelTask", {"id": stream.task_id}))
    received = b""
    while ENDED not in received:
        received += _receive(stream.connection, received)
    return time.perf_counter() - began


def _receive(connection: socket.socket, before: bytes) -> bytes:
    data = connection.recv(65_536)
    if not data:
        raise SystemExit(f"The stream ended too early: {before.decode(errors='replace')}")
    return data
