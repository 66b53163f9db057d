"""Serves the metadata documents of clients over TLS, at the addresses that their ids name."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import trustme
from aiohttp.abc import AbstractResolver, ResolveResult

from tests.wake.callbacks.receiver import Behaviour, Receiver, answering
from tests.wake.callbacks.sending import PATIENCE
from wake.callbacks.http_client import HttpClient
from wake.server.client_metadata import MetadataFetcher

HOSTS = ["claude.ai", "chatgpt.com", "vscode.dev", "cursor.com", "client.example"]


class Sites:
    """Answers as the hosts of the clients do. `answers` has the answer to each address."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.answers: dict[str, Behaviour] = {}
        receiver.usual = self._answer

    def publish(self, document: dict[str, Any], **headers: str) -> str:
        """Serves the document, and returns its address."""
        url = str(document["client_id"])
        self.answers[url] = as_json(document, **headers)
        return url

    @property
    def asked(self) -> list[str]:
        """Returns the addresses of all requests, in their order."""
        return [f"https://{each.headers['Host']}{each.path}" for each in self.receiver.received]

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        url = f"https://{request.headers['Host']}{request.path}"
        self.answers.get(url, answering(404))(request)


def as_json(document: Any, **headers: str) -> Behaviour:
    body = json.dumps(document).encode()
    return answering(200, body, **{"Content_Type": "application/json", **headers})


class Dns(AbstractResolver):
    """Finds every host at one address and port."""

    def __init__(self, address: str, port: int) -> None:
        self.address, self.port = address, port

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=self.address,
                port=self.port,
                family=socket.AF_INET6 if ":" in self.address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
        ]

    async def close(self) -> None:
        pass


@contextmanager
def serving_sites() -> Iterator[tuple[Sites, ssl.SSLContext]]:
    """Runs a server for all hosts. Returns it with a context that trusts its certificate."""
    authority = trustme.CA()
    tls, trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert(*HOSTS).configure_cert(tls)
    authority.configure_trust(trust)
    receiver = Receiver(tls=tls)
    try:
        yield Sites(receiver), trust
    finally:
        receiver.stop()


def fetcher(
    sites: Sites, trust: ssl.SSLContext, *, address: str = "", deadline: float = PATIENCE
) -> type[MetadataFetcher]:
    """Returns a fetcher that finds the sites on this machine. With an `address`, every host is
    there, and no host is trusted to have a private address."""
    dns = Dns(address or "127.0.0.1", sites.receiver.port)

    class Fetcher(MetadataFetcher):
        def http_client(self) -> HttpClient:
            trusted = [] if address else HOSTS
            return HttpClient(deadline=deadline, dns=dns, tls=trust, trusted=trusted)

    return Fetcher
