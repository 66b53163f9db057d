"""Sends requests through the HTTP client, with names that a test resolves."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from wake.callbacks.http_client import HttpClient, Outcome

# Of those who test it; everybody else has a busy machine's.
DEADLINE, PATIENCE = 0.6, 60.0

HEADERS = {"Content-Type": "application/json", "X-Wake-Delivery-Id": "an-id"}

BODY = b'{"status":"approved"}'


class Names(AbstractResolver):
    """Answers each look-up of a name with the next set of addresses, and counts them."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        self.asked.append(host)
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


def post(*urls: str, body: bytes = BODY, **options: Any) -> list[Outcome]:
    """Sends them one after the other with one client."""

    async def go() -> list[Outcome]:
        client = HttpClient(**({"deadline": PATIENCE} | options))
        try:
            return [await client.post(url, body=body, headers=HEADERS) for url in urls]
        finally:
            await client.close()

    return asyncio.run(go())
