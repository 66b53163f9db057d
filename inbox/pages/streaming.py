"""Answers that are written while they are sent, so that a long one needs no more memory than a
short one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connection
from django.http import HttpRequest, StreamingHttpResponse


def streamed(
    request: HttpRequest, parts: Callable[[], Iterator[str]], *, name: str, content_type: str
) -> StreamingHttpResponse:
    """A file to download. `parts` may query the database: between two of them the connection is
    given back, because whoever downloads slowly must not hold one."""
    given = _frugal(parts)
    return StreamingHttpResponse(
        _in_a_thread(given) if isinstance(request, ASGIRequest) else given,
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _frugal(parts: Callable[[], Iterator[str]]) -> Iterator[str]:
    for part in parts():
        if not connection.in_atomic_block:
            connection.close()
        yield part


async def _in_a_thread(parts: Iterator[str]) -> AsyncIterator[str]:
    """An ASGI server would otherwise wait for all of it before it sends the first."""
    step = sync_to_async(lambda: next(parts, None))
    while (part := await step()) is not None:
        yield part
