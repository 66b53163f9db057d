"""Runs a real server that receives callbacks and responds as a test asks."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[[BaseHTTPRequestHandler], None]


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes
    port: int  # the sender's port

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Receiver:
    """Answers each request as `usual`, if the test has asked for nothing else, and keeps it."""

    tls: ssl.SSLContext | None = None
    usual: Behaviour = field(default_factory=lambda: answering(200))
    received: list[Received] = field(default_factory=list)
    behaviours: list[Behaviour] = field(default_factory=list)
    finished: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                request = self.path, dict(self.headers), body, self.client_address[1]
                receiver.received.append(Received(*request))
                behave = receiver.behaviours.pop(0) if receiver.behaviours else receiver.usual
                try:
                    behave(self)
                except OSError:  # the sender hung up, as it should on some of these responses
                    self.close_connection = True

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        if self.tls:
            self.server.socket = self.tls.wrap_socket(
                self.server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def port(self) -> int:
        return int(self.server.server_port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def then(self, *behaviours: Behaviour) -> None:
        """Sets the responses to the next requests, in this order."""
        self.behaviours += behaviours

    def stop(self) -> None:
        self.finished.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def answering(status: int, body: bytes = b"ok", **headers: str) -> Behaviour:
    def behave(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return behave


def slowly(seconds: float) -> Behaviour:
    def behave(request: BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        answering(200)(request)

    return behave
