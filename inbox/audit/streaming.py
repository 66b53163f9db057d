"""Streams a download, so that a long file needs no more memory than a short one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.http import HttpRequest, StreamingHttpResponse


def streamed(
    request: HttpRequest, parts: Callable[[], Iterator[str]], *, name: str, content_type: str
) -> StreamingHttpResponse:
    """Returns a file to download. `parts` may query the database: the connection is given back
    between two parts, so that a slow download does not hold one."""
    released_parts = _frugal(parts)
    return StreamingHttpResponse(
        _in_a_thread(released_parts) if isinstance(request, ASGIRequest) else released_parts,
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _frugal(parts: Callable[[], Iterator[str]]) -> Iterator[str]:
    for part in parts():
        if not connection.in_atomic_block:
            connection.close()
        yield part


async def _in_a_thread(parts: Iterator[str]) -> AsyncIterator[str]:
    """Yields the parts one by one: an ASGI server would otherwise wait for all of them."""
    step = sync_to_async(lambda: next(parts, None))
    while (part := await step()) is not None:
        yield part
