"""Sends requests through the HTTP client, with DNS answers that a test chooses."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from wake.callbacks.http_client import HttpClient, HttpResult

# DEADLINE is for tests of the deadline. All others use PATIENCE, for a busy machine.
DEADLINE, PATIENCE = 0.6, 60.0

HEADERS = {"Content-Type": "application/json", "X-Wake-Delivery-Id": "an-id"}

BODY = b'{"status":"approved"}'


class FakeDns(AbstractResolver):
    """Answers each lookup with the next set of addresses, and remembers the hosts."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.lookups: list[str] = []

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        self.lookups.append(host)
        addresses = self.answers.pop(0)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        pass


def post(
    *urls: str, body: bytes = BODY, headers: Mapping[str, str] = HEADERS, **options: Any
) -> list[HttpResult]:
    """Sends the requests one after the other with one client."""

    async def go() -> list[HttpResult]:
        client = HttpClient(**({"deadline": PATIENCE} | options))
        try:
            return [await client.post(url, body=body, headers=headers) for url in urls]
        finally:
            await client.close()

    return asyncio.run(go())
