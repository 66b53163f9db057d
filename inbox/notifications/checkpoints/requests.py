"""Sends one HTTP request with a checkpoint, and says how that can fail."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from inbox.notifications.channels.transport import open_client
from wake.callbacks.http_client import HttpResult


class NotSent(Exception):
    """The checkpoint did not arrive, and will be sent again. The message says why."""


class NeverArrives(NotSent):
    """This checkpoint can never arrive at this destination. The message says why."""


def post(url: str, *, body: bytes, headers: Mapping[str, str]) -> HttpResult:
    """Sends one POST, and returns the answer with its content. Raises NotSent if there is no
    answer."""
    result = asyncio.run(_post(url, body, headers))
    if result.status_code is None:
        raise NotSent(f"Not sent: {result.error}.")
    return result


def check_arrived(result: HttpResult) -> None:
    """Raises NotSent unless the answer's status reports success."""
    if not result.arrived:
        raise NotSent(f"The server answered with HTTP {result.status_code}.")


async def _post(url: str, body: bytes, headers: Mapping[str, str]) -> HttpResult:
    client = open_client()
    try:
        return await client.post(url, body=body, headers=headers, wants_content=True)
    finally:
        await client.close()
