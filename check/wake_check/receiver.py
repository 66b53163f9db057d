"""Receives the callbacks of the server that is judged."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MAX_BODY_BYTES = 4_000_000


@dataclass(frozen=True)
class Callback:
    path: str
    headers: dict[str, str]  # with names in lower case
    body: bytes  # exactly as it arrived


class Receiver:
    """Listens on a port. A path has a list of answers, one for each request; the last one stays."""

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0, url: str = "") -> None:
        self._callbacks: list[Callback] = []
        self._answers: dict[str, list[tuple[int, dict[str, str]]]] = {}
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer((host, port), _handler(self._take))
        self._server.daemon_threads = True
        self.url = (url or f"http://{host}:{self._server.server_port}").rstrip("/")
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def address(self, path: str, *answers: tuple[int, dict[str, str]]) -> str:
        """Returns the URL of the path, which gives these answers, one after the other."""
        self._answers[path] = list(answers) or [(200, {})]
        return f"{self.url}/{path}"

    def received(self, path: str) -> list[Callback]:
        with self._lock:
            return [callback for callback in self._callbacks if callback.path == path]

    def _take(self, callback: Callback) -> tuple[int, dict[str, str]]:
        with self._lock:
            self._callbacks.append(callback)
            answers = self._answers.get(callback.path, [(404, {})])
            return answers.pop(0) if len(answers) > 1 else answers[0]


def _handler(take: Callable[[Callback], tuple[int, dict[str, str]]]) -> type:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def do_POST(self) -> None:
            length = min(int(self.headers.get("Content-Length") or 0), MAX_BODY_BYTES)
            headers = {name.lower(): value for name, value in self.headers.items()}
            path = self.path.rsplit("/", 1)[-1]
            status, more = take(Callback(path, headers, self.rfile.read(length)))
            self.send_response(status)
            for name, value in {"Content-Length": "0", **more}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Writes nothing, because standard output has the report."""

    return Handler
