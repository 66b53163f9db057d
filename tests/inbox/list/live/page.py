"""Listens to the stream of an open page, as an ASGI server would send it."""

from __future__ import annotations

from asgiref.testing import ApplicationCommunicator
from django.conf import settings

from tests.inbox.person import Person
from wake.asgi import application

PATIENCE_SECONDS = 20
HEARTBEATS_OF_SILENCE = 3
BEGINNING, CHANGED, HEARTBEAT = "retry: 5000", "data: changed", ": still here"


class OpenPage:
    def __init__(self, person: Person | None, **query: str) -> None:
        name = settings.SESSION_COOKIE_NAME
        cookie = f"{name}={person.client.cookies[name].value}" if person else ""
        scope = {
            **{"type": "http", "http_version": "1.1", "method": "GET", "scheme": "http"},
            **{"path": "/live", "raw_path": b"/live"},
            "query_string": "&".join(f"{key}={text}" for key, text in query.items()).encode(),
            **{"client": ("127.0.0.1", 5), "server": ("testserver", 80)},
            "headers": [(b"host", b"testserver"), (b"cookie", cookie.encode())],
        }
        self.socket = ApplicationCommunicator(application, scope)
        self.headers: dict[str, str] = {}
        self.status = 0

    async def open(self) -> OpenPage:
        """Returns when the stream has begun, or was refused."""
        await self.socket.send_input({"type": "http.request", "body": b""})
        start = await self.socket.receive_output(PATIENCE_SECONDS)
        self.status = start["status"]
        self.headers = {name.decode().lower(): text.decode() for name, text in start["headers"]}
        if self.status == 200:
            assert await self.next() == BEGINNING
        else:
            await self.socket.wait(PATIENCE_SECONDS)
        return self

    async def next(self) -> str | None:
        """Returns the next event, or None at the end. Leaves out heartbeats: on a busy machine some
        come before the event does."""
        while (event := await self._next()) == HEARTBEAT:
            pass
        return event

    async def silence(self) -> str | None:
        """Returns HEARTBEAT if only heartbeats come. Otherwise returns the event that came."""
        for _ in range(HEARTBEATS_OF_SILENCE):
            if (event := await self._next()) != HEARTBEAT:
                return event
        return HEARTBEAT

    async def _next(self) -> str | None:
        while True:
            message = await self.socket.receive_output(PATIENCE_SECONDS)
            if text := message["body"].decode().strip():
                return str(text)
            if not message.get("more_body", False):
                await self.socket.wait(PATIENCE_SECONDS)
                return None

    async def leave(self) -> None:
        await self.socket.send_input({"type": "http.disconnect"})
        await self.socket.wait(PATIENCE_SECONDS)
