"""Sends callbacks: the only HTTP that leaves this server."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import aiohttp
from aiohttp.abc import AbstractResolver

from wake.callbacks.addresses import CheckedResolver, LookUpThreads
from wake.callbacks.allowlist import Destination, Refused, parse

DEADLINE_SECONDS = 10.0
READ_AT_MOST = 65_536
SHOWN_AT_MOST = 2_048
LOOK_UPS = 100


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one POST. A failure of the other server is data, never an exception: without a
    complete answer `status_code` is None and `error` says why."""

    status_code: int | None = None
    error: str = ""
    answer: str = ""
    retry_after: str = ""
    took_ms: int = 0

    @property
    def arrived(self) -> bool:
        return self.status_code is not None and 200 <= self.status_code < 300


class HttpClient:
    """Holds the connections of one sender. It is created, used and closed inside its event loop."""

    def __init__(
        self,
        *,
        names: AbstractResolver | None = None,
        tls: ssl.SSLContext | None = None,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        self._deadline = deadline
        asyncio.get_running_loop().set_default_executor(LookUpThreads(max_workers=LOOK_UPS))
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=CheckedResolver(names or aiohttp.ThreadedResolver()),
                ssl=tls or True,
                limit=0,  # the outbox claims no more than its host limits allow
                keepalive_timeout=2,  # later, the other side may have closed the connection
            ),
            timeout=aiohttp.ClientTimeout(total=None),  # post() has one deadline for everything
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            headers={"User-Agent": "Wake/1.0", "Accept": "*/*", "Accept-Encoding": "identity"},
        )

    async def close(self) -> None:
        await self._session.close()

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> Outcome:
        """Sends one POST. One deadline covers the look-up, the connection, the answer and its body.
        The caller has asked `allowlist.check` whether this team's callbacks may go there."""
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._deadline):
                outcome = await self._exchange(parse(url), body, headers)
        except (Refused, TimeoutError, aiohttp.ClientError, OSError, UnicodeError) as failure:
            outcome = Outcome(error=_described(failure))
        return replace(outcome, took_ms=round((time.monotonic() - started) * 1000))

    async def _exchange(
        self, destination: Destination, body: bytes, headers: Mapping[str, str]
    ) -> Outcome:
        request = self._session.post(
            destination.url, data=body, headers=headers, allow_redirects=False
        )
        async with request as response:
            start = await _start_of(response.content)
            # `release` would wait for the rest of the answer, if there is any.
            if not response.content.at_eof():
                response.close()
        return Outcome(
            status_code=response.status,
            error="redirects are not followed" if 300 <= response.status < 400 else "",
            answer=_printable(start),
            retry_after=response.headers.get("Retry-After", ""),
        )


async def _start_of(content: aiohttp.StreamReader) -> bytes:
    """Reads at most READ_AT_MOST bytes and returns the first SHOWN_AT_MOST of them."""
    start, length = b"", 0
    while length < READ_AT_MOST and (chunk := await content.read(READ_AT_MOST - length)):
        length += len(chunk)
        start = (start + chunk)[:SHOWN_AT_MOST]
    return start


def _printable(start: bytes) -> str:
    """Removes control characters; PostgreSQL refuses to store the first of them."""
    text = start.decode(errors="replace")
    return "".join(sign for sign in text if sign in "\n\t" or sign.isprintable())


def _described(failure: Exception) -> str:
    match failure:
        case TimeoutError():
            return "timed out"
        case Refused():
            return str(failure)
        case aiohttp.ClientConnectorCertificateError():
            why = getattr(failure.certificate_error, "verify_message", "")
            return f"the certificate was not accepted: {why}"
        case aiohttp.ClientSSLError():
            return "the TLS handshake failed"
        case aiohttp.ClientConnectorDNSError():
            return "the name cannot be resolved"
        case aiohttp.ClientConnectorError():
            return f"no connection: {os.strerror(failure.os_error.errno or 0)}"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError():
            return "the connection was closed without an answer"
        case aiohttp.ClientPayloadError():
            return "the answer broke off"
        case aiohttp.ClientResponseError():
            return "the answer is not HTTP"
    return f"failed: {type(failure).__name__} {failure}".strip()
