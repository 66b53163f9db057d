"""Stands between a client and the server like a network, and can be cut."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self


class Line:
    """Passes connections on to a port of this machine."""

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.port: int = self._listener.getsockname()[1]
        self._start(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _shut(self._listener)
        self.cut()
        for thread in self._threads:
            thread.join()
        for one in (self._listener, *self._ends):
            one.close()

    def cut(self) -> None:
        """Ends all open connections in both directions. Connections that are opened later work
        again."""
        for end in list(self._ends):
            _shut(end)

    def _start(self, target: Callable[..., None], *ends: socket.socket) -> None:
        thread = threading.Thread(target=target, args=ends, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):  # the line is closed
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._server)
                self._ends += [near, far]
                self._start(_pass_on, near, far)
                self._start(_pass_on, far, near)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):  # the connection was cut
        while part := source.recv(65_536):
            target.sendall(part)
    _shut(source)
    _shut(target)


def _shut(end: socket.socket) -> None:
    with suppress(OSError):  # the socket is shut already
        end.shutdown(socket.SHUT_RDWR)
