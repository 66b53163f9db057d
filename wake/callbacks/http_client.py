"""Sends callbacks and notifications. Only accounts/sign_in/oidc/outgoing.py makes other HTTP
requests."""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from wake.callbacks.addresses import CheckedResolver, LookupThreads
from wake.callbacks.allowlist import AddressRefused, Destination, parse

DEADLINE_SECONDS = 10.0
MAX_READ_BYTES = 65_536
MAX_STORED_BYTES = 2_048
MAX_TARGET_BYTES = 2_048  # the longest path and query of a callback
LOOKUP_THREADS = 100
HEADERS = {"User-Agent": "Wake/1.0", "Accept-Encoding": "identity"}
ENDS_HEADER = re.compile(r"[\r\n\0]")  # a line break would start another header
KEPT_DESTINATIONS = 1_000


@dataclass(frozen=True, slots=True)
class HttpResult:
    """Describes how one request ended. A failure of the other server is data, never an exception.
    If there is no complete answer, `status_code` is None and `error` says why. `content` has the
    answer's bytes, if the caller asked for them."""

    status_code: int | None = None
    error: str = ""
    answer: str = ""
    content: bytes = b""
    content_type: str = ""
    cache_control: str = ""
    retry_after: str = ""
    took_ms: int = 0

    @property
    def arrived(self) -> bool:
        return self.status_code is not None and 200 <= self.status_code < 300


class HttpClient:
    """Holds the connections of one sender. The client is created, used and closed inside its event
    loop. `trusted` hosts may have private addresses, and may be called without TLS.

    Only aiohttp's public interface is used
    (docs/decisions/0067-callbacks-use-aiohttps-session.md).
    """

    def __init__(
        self,
        *,
        dns: AbstractResolver | None = None,
        tls: ssl.SSLContext | None = None,
        deadline: float = DEADLINE_SECONDS,
        trusted: Collection[str] = (),
    ) -> None:
        # Many callbacks go to the same URL.
        self._destination = lru_cache(KEPT_DESTINATIONS)(partial(parse, trusted=trusted))
        asyncio.get_running_loop().set_default_executor(LookupThreads(max_workers=LOOKUP_THREADS))
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=CheckedResolver(dns or aiohttp.ThreadedResolver(), trusted=trusted),
                limit=0,  # the outbox claims no more than its host limits allow
                keepalive_timeout=2,  # later, the receiver may have closed the connection
                ssl=tls or True,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=HEADERS,
            auto_decompress=False,
            read_bufsize=MAX_READ_BYTES,
            timeout=aiohttp.ClientTimeout(total=deadline, ceil_threshold=deadline),
        )

    async def close(self) -> None:
        await self._session.close()

    async def post(
        self, url: str, *, body: bytes, headers: Mapping[str, str], wants_content: bool = False
    ) -> HttpResult:
        """Sends one POST. One deadline covers the DNS lookup, the connection and the whole
        answer. The caller must check the URL with `allowlist.check` first. With `wants_content`,
        the result has the first MAX_READ_BYTES bytes of the answer."""
        return await self._send(
            "POST", url, body=body, headers=headers, wants_content=wants_content
        )

    async def get(self, url: str, *, headers: Mapping[str, str]) -> HttpResult:
        """Sends one GET, under the same deadline. The result has the first MAX_READ_BYTES bytes of
        the answer. Only hosts that no team must allow may be asked, such as the site of a client's
        metadata document."""
        return await self._send("GET", url, body=None, headers=headers, wants_content=True)

    async def _send(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None,
        headers: Mapping[str, str],
        wants_content: bool,
    ) -> HttpResult:
        started = time.monotonic()
        try:
            destination = self._destination(url)
            _check(headers)
            response = await self._session.request(
                method, _address(destination), data=body, headers=headers, allow_redirects=False
            )
            try:
                kept = MAX_READ_BYTES if wants_content else MAX_STORED_BYTES + MAX_TARGET_BYTES
                start = await _start_of(response.content, kept=kept)
            finally:
                response.close()  # an answer that was read to its end has released the connection
        except (
            AddressRefused,
            TimeoutError,
            aiohttp.ClientError,
            OSError,
            UnicodeError,
        ) as failure:
            return HttpResult(error=_described(failure), took_ms=_milliseconds_since(started))
        return HttpResult(
            status_code=response.status,
            error="redirects are not followed" if 300 <= response.status < 400 else "",
            answer=_stored(destination, start),
            content=start if wants_content else b"",
            content_type=response.content_type,
            cache_control=response.headers.get("Cache-Control", ""),
            retry_after=response.headers.get("Retry-After", ""),
            took_ms=_milliseconds_since(started),
        )


def _address(destination: Destination) -> URL:
    return URL(destination.origin + destination.target, encoded=True)


def _stored(destination: Destination, start: bytes) -> str:
    """Returns the beginning of the answer, without the path and query of the URL. More was read
    than is stored, so that no path is cut off in the middle and stays."""
    text = destination.mask_in(_printable(start[: MAX_STORED_BYTES + MAX_TARGET_BYTES]))
    return text.encode()[:MAX_STORED_BYTES].decode(errors="ignore")


def _check(headers: Mapping[str, str]) -> None:
    """Raises AddressRefused if a header contains a line break or U+0000."""
    if ENDS_HEADER.search("".join([*headers, *headers.values()])):
        raise AddressRefused("bad_header", "A header of this callback contains a line break.")


async def _start_of(content: aiohttp.StreamReader, *, kept: int) -> bytes:
    """Reads at most MAX_READ_BYTES bytes and returns the first `kept` of them."""
    start, length = b"", 0
    while length < MAX_READ_BYTES and not content.at_eof():
        chunk = await content.read(MAX_READ_BYTES - length)
        length += len(chunk)
        start = (start + chunk)[:kept]
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
        case AddressRefused():
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
    return f"failed: {type(failure).__name__}"  # the message may have the URL
