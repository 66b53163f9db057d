"""Streams a download, so that a long file needs no more memory than a short one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TypeVar

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.http import HttpRequest, StreamingHttpResponse

from database.turns import another_turn

Part = TypeVar("Part", str, bytes)


def streamed(
    request: HttpRequest, parts: Callable[[], Iterator[Part]], *, name: str, content_type: str
) -> StreamingHttpResponse:
    """Returns a file to download. `parts` may query the database. The connection is returned
    between two parts, so that a slow download does not hold a connection."""
    released_parts = _frugal(parts)
    return StreamingHttpResponse(
        _in_a_thread(released_parts) if isinstance(request, ASGIRequest) else released_parts,
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _frugal(parts: Callable[[], Iterator[Part]]) -> Iterator[Part]:
    for part in parts():
        if not connection.in_atomic_block:
            connection.close()
        yield part


async def _in_a_thread(parts: Iterator[Part]) -> AsyncIterator[Part]:
    """Yields the parts one by one. Otherwise an ASGI server would wait for all parts before it
    sends the first one."""
    step = sync_to_async(lambda: next(parts, None))
    while True:
        async with another_turn():
            part = await step()
        if part is None:
            return
        yield part
