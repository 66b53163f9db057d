"""Sends callbacks and notifications. Only accounts/oidc/outgoing.py makes other HTTP requests."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import HttpProcessingError, RawResponseMessage
from yarl import URL

from wake.callbacks.addresses import CheckedResolver, LookupThreads
from wake.callbacks.allowlist import Destination, Refused, parse

DEADLINE_SECONDS = 10.0
MAX_READ_BYTES = 65_536
MAX_STORED_BYTES = 2_048
LOOKUP_THREADS = 100
SWITCHING_PROTOCOLS = 101
HEADERS = {"User-Agent": "Wake/1.0", "Accept": "*/*", "Accept-Encoding": "identity"}
ENDS_HEADER = "\r\n\0"  # each would end a header, and begin another one
KEPT_DESTINATIONS = 1_000
NO_TIMEOUT = aiohttp.ClientTimeout(total=None)  # post() has one deadline for everything


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
    """Holds the connections of one sender. It is created, used and closed inside its event loop.
    `trusted` hosts may have private addresses, and be asked without TLS.

    aiohttp makes and keeps the connections and parses the answers. Its ClientSession, which costs
    more than both (docs/decisions/0045-callbacks-are-written-to-the-connection.md), is not used.
    """

    def __init__(
        self,
        *,
        dns: AbstractResolver | None = None,
        tls: ssl.SSLContext | None = None,
        deadline: float = DEADLINE_SECONDS,
        trusted: Collection[str] = (),
    ) -> None:
        self._deadline = deadline
        parse_here = partial(parse, trusted=trusted)
        self._parsed = lru_cache(KEPT_DESTINATIONS)(parse_here)  # many go to the same URL
        self._tls: ssl.SSLContext | bool = tls or True
        self._origins: dict[str, aiohttp.ClientRequest] = {}
        self._loop = asyncio.get_running_loop()
        self._loop.set_default_executor(LookupThreads(max_workers=LOOKUP_THREADS))
        self._connections = aiohttp.TCPConnector(
            resolver=CheckedResolver(dns or aiohttp.ThreadedResolver(), trusted=trusted),
            limit=0,  # the outbox claims no more than its host limits allow
            keepalive_timeout=2,  # later, the other side may have closed the connection
        )

    async def close(self) -> None:
        await self._connections.close()

    async def post(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> Outcome:
        """Sends one POST. One deadline covers the DNS lookup, the connection and the whole
        answer. The caller must check the URL with `allowlist.check` first."""
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._deadline):
                destination = self._parsed(url)
                request = _head(destination, headers, len(body)) + body
                message, start = await self._exchange(destination, request)
        except (
            *(Refused, TimeoutError, aiohttp.ClientError, HttpProcessingError),
            *(OSError, UnicodeError),
        ) as failure:
            return Outcome(error=_described(failure), took_ms=_milliseconds_since(started))
        return Outcome(
            status_code=message.code,
            error="redirects are not followed" if 300 <= message.code < 400 else "",
            answer=_printable(start),
            retry_after=message.headers.get("Retry-After", ""),
            took_ms=_milliseconds_since(started),
        )

    async def _exchange(
        self, destination: Destination, request: bytes
    ) -> tuple[RawResponseMessage, bytes]:
        """Sends the request, and returns the head and the start of the body of its answer."""
        origin = self._origin(destination)
        connection = await self._connections.connect(origin, [], NO_TIMEOUT)
        try:
            protocol = connection.protocol
            assert protocol is not None  # noqa: S101 - for the type checker
            assert protocol.transport is not None  # noqa: S101 - for the type checker
            protocol.set_response_params(
                read_until_eof=True, auto_decompress=False, read_bufsize=MAX_READ_BYTES
            )
            protocol.transport.write(request)
            message, content = await _answer(protocol)
            start = await _start_of(content)
            if content.at_eof():
                connection.release()
        finally:
            connection.close()  # unless it was released
        return message, start

    def _origin(self, destination: Destination) -> aiohttp.ClientRequest:
        """Returns what tells aiohttp where to connect to."""
        origin = destination.origin
        if origin not in self._origins:
            self._origins[origin] = aiohttp.ClientRequest(
                "POST", URL(origin, encoded=True), ssl=self._tls, loop=self._loop
            )
        return self._origins[origin]


def _head(destination: Destination, headers: Mapping[str, str], length: int) -> bytes:
    """Returns the request up to its body. Raises Refused if a header contains the end of one."""
    named = HEADERS | {**headers, "Content-Length": str(length)}
    lines = [f"{name}: {value}" for name, value in named.items()]
    given = "".join(lines)
    if any(end in given for end in ENDS_HEADER):
        raise Refused("bad_header", "A header of this callback contains a line break.")
    first = [f"POST {destination.target} HTTP/1.1", f"Host: {destination.name}"]
    return "\r\n".join([*first, *lines, "", ""]).encode()


async def _answer(protocol: ResponseHandler) -> tuple[RawResponseMessage, aiohttp.StreamReader]:
    """Returns the first answer that is not an interim one (RFC 9110, section 15.2)."""
    while True:
        message, content = await protocol.read()
        if not 100 <= message.code < 200 or message.code == SWITCHING_PROTOCOLS:
            return message, content


async def _start_of(content: aiohttp.StreamReader) -> bytes:
    """Reads at most MAX_READ_BYTES bytes and returns the first MAX_STORED_BYTES of them."""
    start, length = b"", 0
    while length < MAX_READ_BYTES and not content.at_eof():
        chunk = await content.read(MAX_READ_BYTES - length)
        length += len(chunk)
        start = (start + chunk)[:MAX_STORED_BYTES]
    return start


def _printable(start: bytes) -> str:
    """Returns the text without control characters, because PostgreSQL cannot store U+0000."""
    text = start.decode(errors="replace")
    if text.isprintable():
        return text
    return "".join(
        character for character in text if character in "\n\t" or character.isprintable()
    )


def _milliseconds_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


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
        case HttpProcessingError():
            return "the answer was not valid HTTP"
    return f"failed: {type(failure).__name__} {failure}".strip()
