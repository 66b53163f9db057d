"""Drops request headers whose names have an underscore.

Django and WSGI write `-` and `_` in a header's name the same way, so that `X_Forwarded_For` from a
client would take the place of the `X-Forwarded-For` that the proxy sets.
"""

from __future__ import annotations

from typing import Any

from wake.server.http.body_limit import App, Receive, Send


class HyphenatedHeaders:
    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if any(b"_" in name for name, _ in scope.get("headers", ())):
            headers = [header for header in scope["headers"] if b"_" not in header[0]]
            scope = {**scope, "headers": headers}
        await self.app(scope, receive, send)
