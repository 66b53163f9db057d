"""Accepts each POST after a delay (bench/callbacks.py).

`python -m bench.tools.receiver SECONDS COUNT` listens on COUNT ports, prints them, and serves
until it is ended."""

from __future__ import annotations

import asyncio
import re
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n", re.IGNORECASE)


class Receiver(asyncio.Protocol):
    """Reads the requests of one connection, one after the other."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.unread = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - for the type checker
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.unread += data
        end = self.unread.find(b"\r\n\r\n")
        if end < 0 or (length := LENGTH.search(self.unread, 0, end + 2)) is None:
            return
        if len(self.unread) < end + 4 + int(length[1]):
            return
        self.unread = b""
        if self.seconds:
            asyncio.get_running_loop().call_later(self.seconds, self.transport.write, ANSWER)
        else:
            self.transport.write(ANSWER)


async def serve(seconds: float, count: int) -> None:
    loop = asyncio.get_running_loop()
    servers = [
        await loop.create_server(lambda: Receiver(seconds), "127.0.0.1", 0) for _ in range(count)
    ]
    print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)  # noqa: T201
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]), int(sys.argv[2])))
