"""Sends the same request many times over a few keep-alive connections."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping, Sequence

CONNECTIONS = 8
SUCCESSES = b"HTTP/1.1 2", b"HTTP/1.1 303"  # a form that was accepted leads to another page


def request_bytes(
    method: str, path: str, key: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {key}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def once(port: int, request: bytes) -> bytes:
    """Returns the body of a successful answer. Raises SystemExit for any other answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        return _exchange(connection, request)


def load(port: int, request: bytes, times: int) -> None:
    """Sends the request `times` times. Raises SystemExit if an answer is not a success."""
    durations(port, [request], times)


def durations(
    port: int, requests: Sequence[bytes], times: int, *, connections: int = CONNECTIONS
) -> list[float]:
    """Sends `times` requests, choosing from `requests` in turn. Returns how many seconds each
    request took. Raises SystemExit if an answer is not a success."""
    each = times // connections
    share = [requests[number % len(requests)] for number in range(each)]
    return _durations(port, [share] * connections)


def load_each(port: int, requests: Sequence[bytes]) -> None:
    """Sends each of the requests once. Raises SystemExit if an answer is not a success."""
    _durations(port, [requests[number::CONNECTIONS] for number in range(CONNECTIONS)])


def _durations(port: int, shares: Sequence[Sequence[bytes]]) -> list[float]:
    """Sends the requests of each share over a connection of its own."""
    failures: list[BaseException] = []
    seconds: list[float] = []

    def run(share: Sequence[bytes]) -> None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for request in share:
                    began = time.perf_counter()
                    _exchange(connection, request)
                    seconds.append(time.perf_counter() - began)
        except (OSError, SystemExit) as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(share,)) for share in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise SystemExit(str(failures[0]))
    return seconds


def _exchange(connection: socket.socket, request: bytes) -> bytes:
    connection.sendall(request)
    received = b""
    while b"\r\n\r\n" not in received:
        received += _receive(connection)
    head, _, content = received.partition(b"\r\n\r\n")
    if not head.startswith(SUCCESSES):
        raise SystemExit(f"{head.decode()}\n{content.decode(errors='replace')}")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    while len(content) < length:
        content += _receive(connection)
    return content


def _receive(connection: socket.socket) -> bytes:
    data = connection.recv(65_536)
    if not data:
        raise ConnectionError("The server closed the connection.")
    return data
