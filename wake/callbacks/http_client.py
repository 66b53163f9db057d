"""Sends callbacks. No other code of the server makes HTTP requests."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import aiohttp
from aiohttp.abc import AbstractResolver

from wake.callbacks.addresses import CheckedResolver, LookupThreads
from wake.callbacks.allowlist import Destination, Refused, parse

DEADLINE_SECONDS = 10.0
MAX_READ_BYTES = 65_536
MAX_STORED_BYTES = 2_048
LOOKUP_THREADS = 100


@dataclass(frozen=True, slots=True)
class Outcome:
    """Describes how one POST ended. A failure of the other server is data, never an exception: if
    there is no complete answer, `status_code` is None and `error` says why."""

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
        dns: AbstractResolver | None = None,
        tls: ssl.SSLContext | None = None,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        self._deadline = deadline
        asyncio.get_running_loop().set_default_executor(LookupThreads(max_workers=LOOKUP_THREADS))
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=CheckedResolver(dns or aiohttp.ThreadedResolver()),
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
        """Sends one POST. One deadline covers the DNS lookup, the connection and the whole
        answer. The caller must check the URL with `allowlist.check` first."""
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
    """Reads at most MAX_READ_BYTES bytes and returns the first MAX_STORED_BYTES of them."""
    start, length = b"", 0
    while length < MAX_READ_BYTES and (chunk := await content.read(MAX_READ_BYTES - length)):
        length += len(chunk)
        start = (start + chunk)[:MAX_STORED_BYTES]
    return start


def _printable(start: bytes) -> str:
    """Returns the text without control characters, because PostgreSQL cannot store U+0000."""
    text = start.decode(errors="replace")
    return "".join(
        character for character in text if character in "\n\t" or character.isprintable()
    )


def _described(failure: Exception) -> str:
    match failure:
        case TimeoutError():
            return "timed out"
        case Refused():
            return str(failure)
        case aiohttp.ClientConnectorCertificateError():
            why = getattr(failure.certificate_error, "verify_message", "")
            return f"the TLS certificate was not accepted: {why}"
        case aiohttp.ClientSSLError():
            return "the TLS handshake failed"
        case aiohttp.ClientConnectorDNSError():
            return "the host name could not be resolved"
        case aiohttp.ClientConnectorError():
            return f"could not connect: {os.strerror(failure.os_error.errno or 0)}"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError():
            return "the server closed the connection without an answer"
        case aiohttp.ClientPayloadError():
            return "the answer was incomplete"
        case aiohttp.ClientResponseError():
            return "the answer was not valid HTTP"
    return f"failed: {type(failure).__name__} {failure}".strip()
