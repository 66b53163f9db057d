"""Runs a client that signs in by OAuth: it waits for the person at an address of its own, as
programs on a person's computer do, and calls the server over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.accounts.oauth.oauth_client import OAuthClient
from tests.accounts.oauth.test_sign_in import PeoplesClient

BACK = b"<!doctype html><title>Example Chat</title><h1>You can go back to Example Chat.</h1>"


class Http:
    """Posts as Django's client of tests does, but to a server that listens."""

    def __init__(self, origin: str) -> None:
        self.http = httpx.Client(base_url=origin, trust_env=False, timeout=60)

    def post(
        self, path: str, content: Any, *, content_type: str, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        sent = {"Content-Type": content_type, **(headers or {})}
        if isinstance(content, dict):
            return self.http.post(path, json=content, headers=sent)
        return self.http.post(path, content=content, headers=sent)


class LocalClient(OAuthClient):
    """Listens at its callback, and keeps what each browser brought back."""

    def __init__(self, origin: str, callback: str, **options: Any) -> None:
        super().__init__(callback, **options)
        self.origin = origin
        self.client: Any = Http(origin)
        self.brought: list[dict[str, str]] = []

    def delivering(self, access_token: str) -> PeoplesClient:
        """Returns the client of MCP, which has signed in."""
        client = PeoplesClient(access_token)
        client.client = Http(self.origin)  # type: ignore[assignment]
        return client


@contextmanager
def local_client(origin: str, **options: Any) -> Iterator[LocalClient]:
    class Callback(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/callback":
                query = parse_qs(parts.query)
                client.brought.append({name: values[0] for name, values in query.items()})
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(BACK)

        def log_message(self, *args: object) -> None:
            """Keeps quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Callback)
    client = LocalClient(origin, f"http://127.0.0.1:{server.server_port}/callback", **options)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield client
    finally:
        server.shutdown()
        server.server_close()
