"""Cuts a Content-Type that would break Django before any view, middleware or handler runs.

Django decodes the query string with the charset of the Content-Type. A charset that Python knows
but that decodes no text (`undefined`), or one that it cannot look up (`charset*=utf-8''%00`),
causes a bare 500. All requests are UTF-8, so removing the charset loses nothing.

Django's parser takes the square of the length: 60 kB of semicolons took seconds, in the event loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from django.utils.http import parse_header_parameters

LONGEST = 1_000  # characters; a boundary of multipart/form-data has 200 at most

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class ReadableWsgi:
    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self.app = app

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ["CONTENT_TYPE"] = readable(environ.get("CONTENT_TYPE", ""))
        return self.app(environ, start_response)


class ReadableAsgi:
    def __init__(self, app: AsgiApp) -> None:
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        values = [value for name, value in scope.get("headers", ()) if name == b"content-type"]
        if any(b";" in value for value in values):
            # As one text, because that is how Django will read it.
            text = readable(b",".join(values).decode("latin-1")).encode("latin-1")
            others = [header for header in scope["headers"] if header[0] != b"content-type"]
            scope = {**scope, "headers": [*others, (b"content-type", text)]}
        await self.app(scope, receive, send)


def readable(text: str) -> str:
    """Returns the Content-Type, or only its media type if the rest could do harm."""
    if ";" not in text:
        return text
    media_type = text.partition(";")[0]
    if len(text) > LONGEST:
        return media_type
    try:
        _, parameters = parse_header_parameters(text)
    except ValueError:
        return media_type
    is_harmless = parameters.get("charset", "utf-8").lower() in {"utf-8", "utf8"}
    return text if is_harmless else media_type
