"""Changes request headers that Django would misread, before any view or middleware runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from django.utils.http import parse_header_parameters

LONGEST = 1_000  # characters; a boundary of multipart/form-data has 200 at most

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class HyphenatedHeaders:
    """Drops headers whose names have an underscore. Django and WSGI write `-` and `_` in a header's
    name the same way. So a client's `X_Forwarded_For` would take the place of the `X-Forwarded-For`
    that the proxy sets."""

    def __init__(self, app: AsgiApp) -> None:
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if any(b"_" in name for name, _ in scope.get("headers", ())):
            headers = [header for header in scope["headers"] if b"_" not in header[0]]
            scope = {**scope, "headers": headers}
        await self.app(scope, receive, send)


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
            # Several headers are joined into one text, because Django will also read them as one.
            text = readable(b",".join(values).decode("latin-1")).encode("latin-1")
            others = [header for header in scope["headers"] if header[0] != b"content-type"]
            scope = {**scope, "headers": [*others, (b"content-type", text)]}
        await self.app(scope, receive, send)


def readable(text: str) -> str:
    """Returns the Content-Type, or only its media type if its parameters could do harm."""
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
