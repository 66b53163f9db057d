"""Sends requests to the provider, with limits on time and size.

The operator configured the provider, which may be in a private network. So the provider's addresses
are not refused as callback addresses are (wake/callbacks/addresses.py). Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from accounts.sign_in.oidc.problems import BadAnswer, Busy, ProviderAway
from database.turns import released

log = logging.getLogger(__name__)

SECONDS = 5.0  # the limit of one request, including DNS and the whole answer
MAX_BYTES = 262_144
HEADERS = {"User-Agent": "Wake/1.0", "Accept": "application/json", "Accept-Encoding": "identity"}
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
# This limit is for each process, so that a slow provider does not occupy every thread.
AT_ONCE = 4
PATIENCE_SECONDS = 2.0
_slots = threading.BoundedSemaphore(AT_ONCE)


def get(url: str, *, bearer: str = "") -> str:
    """Returns the body of a 200 answer. Raises a Problem."""
    headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
    status, body = _ask("GET", url, None, headers)
    if status != 200:
        log.warning("The sign-in provider answered %s to GET %s", status, url)
        raise ProviderAway(ProviderAway.__doc__)
    return body


def post(url: str, *, body: str, headers: Mapping[str, str]) -> tuple[int, str]:
    """Sends a form; returns the status and the body. Raises a Problem."""
    form = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    return _ask("POST", url, body, form)


def object_of(text: str) -> dict[str, Any]:
    """Parses a JSON object. Raises BadAnswer if the text is anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        log.warning("The sign-in provider sent something that is no JSON object")
        raise BadAnswer(BadAnswer.__doc__)
    return value


def is_safe(url: Any) -> bool:
    """Returns whether this is an https address, or an address of this machine."""
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
        is_local = parts.scheme == "http" and parts.hostname in LOOPBACK
        return bool(parts.hostname) and (parts.scheme == "https" or is_local)
    except ValueError:
        return False


def _ask(method: str, url: str, body: str | None, headers: Mapping[str, str]) -> tuple[int, str]:
    if not is_safe(url):
        log.warning("The sign-in provider names an address that is not https: %r", url)
        raise BadAnswer(BadAnswer.__doc__)
    try:
        with released():
            status, content = _exchange_in_slot(method, url, body, headers)
        return status, content.decode()
    except UnicodeDecodeError:
        raise BadAnswer(BadAnswer.__doc__) from None
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as failure:
        log.warning("The sign-in provider failed: %s %s: %r", method, url, failure)
        raise ProviderAway(ProviderAway.__doc__) from failure


def _exchange_in_slot(
    method: str, url: str, body: str | None, headers: Mapping[str, str]
) -> tuple[int, bytes]:
    if not _slots.acquire(timeout=PATIENCE_SECONDS):
        raise Busy(Busy.__doc__)
    try:
        return asyncio.run(_exchange(method, url, body, headers))
    finally:
        _slots.release()


async def _exchange(
    method: str, url: str, body: str | None, headers: Mapping[str, str]
) -> tuple[int, bytes]:
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    async with (
        aiohttp.ClientSession(timeout=timeout, headers=HEADERS) as session,
        session.request(
            method,
            URL(url, encoded=True),
            data=body.encode() if body is not None else None,
            headers=headers,
            allow_redirects=False,
        ) as answer,
    ):
        content = b""
        async for chunk in answer.content.iter_any():
            content += chunk
            if len(content) > MAX_BYTES:
                raise ValueError(f"more than {MAX_BYTES} bytes")
        return answer.status, content
