"""The WebSocket that a connector holds open. Rows are looked at again and again while it does:
a channel layer would carry news between processes faster, and lose some."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import BytesIO
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.utils import timezone

from accounts import keys
from accounts.models import ApiKey
from accounts.throttles import client_address
from relay import connect
from relay.connect import Session
from relay.wire import Json
from wake import connections
from wake.clock import database_now
from wake.connections import DATABASE_AWAY
from wake.middleware import LOOPBACK

logger = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 0.5
# A proxy takes a connection for dead after a silent minute.
PING_EVERY_SECONDS = 20.0
ANSWER_SECONDS = 10.0
PING = {"type": "ping"}
FAILED, TRY_AGAIN_LATER = 1011, 1013  # RFC 6455 and its registry


class ConnectConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # no types
    async def connect(self) -> None:
        self._session: Session | None = None
        self._ending: tuple[int, str] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._one_at_a_time = asyncio.Lock()
        request = _request(self.scope)
        if not _is_let_in(request):
            await self.close()  # before it was accepted, so this is a 403
            return
        await self.accept()
        try:
            key = await _in_thread(_key_of, request)
        except DATABASE_AWAY as error:
            await self._give_up(error)
            return
        if key is None:
            await self.close(connect.KEY_REFUSED)
            return
        self._session = Session(key, transport="websocket", address=client_address(request))
        self._looking = asyncio.create_task(self._look())

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self._ending:
            await self.close(*self._ending)
        if (session := self._session) is None:
            return
        text = text_data if text_data is not None else (bytes_data or b"").decode(errors="replace")
        await self._say(lambda: session.read(text, at=database_now()))

    async def disconnect(self, code: int) -> None:
        session, self._session = self._session, None
        if self._looking:
            self._looking.cancel()
        if session:
            with suppress(*DATABASE_AWAY):  # its silence says the same a little later
                await _in_thread(lambda: session.leave(at=database_now()))

    async def _look(self) -> None:
        pinged_at = time.monotonic()
        while session := self._session:
            await self._say(partial(_look, session))
            if time.monotonic() - pinged_at > PING_EVERY_SECONDS:
                pinged_at = time.monotonic()
                await self._say(lambda: [PING])
            await asyncio.sleep(LOOK_EVERY_SECONDS)
        await asyncio.sleep(ANSWER_SECONDS)
        if self._ending:
            await self.close(*self._ending)

    async def _say(self, work: Callable[[], list[Json]]) -> None:
        """Sends what the session has to say, and closes where that was its last word."""
        async with self._one_at_a_time:
            if (session := self._session) is None:
                return
            try:
                frames = await _in_thread(work)
            except DATABASE_AWAY as error:
                await self._give_up(error)
                return
            except Exception:  # or nobody would look any more, and the other side would not know
                logger.exception("The conversation with a connector failed")
                await self._end(FAILED, "Something on our side failed.")
                return
            if session.closes:
                await self._end(session.closes, frames[-1]["message"])
                return
            for frame in frames:
                await self.send(text_data=json.dumps(frame, ensure_ascii=False))

    async def _give_up(self, error: Exception) -> None:
        logger.warning("The database did not answer: %s", error)
        connections.forget_dead(error)
        await self._end(TRY_AGAIN_LATER, "The database is away.")

    async def _end(self, code: int, reason: str) -> None:
        """Granian (2.8) sends no close frame while it waits for a frame of the other side, so what
        is found out meanwhile is said when the answer to a ping comes in."""
        self._session, self._ending = None, (code, reason)
        if asyncio.current_task() is self._looking:
            await self.send(text_data=json.dumps(PING))
        else:
            await self.close(code, reason)


class NothingHere(AsyncWebsocketConsumer):  # type: ignore[misc]  # no types
    """Any other WebSocket: a 403."""

    async def connect(self) -> None:
        await self.close()


def _look(session: Session) -> list[Json]:
    return session.look(at=database_now())


async def _in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
    """In any free thread (the sensitive one is shared by all sockets of the process), which gives
    its connection back at once."""
    return await database_sync_to_async(work, thread_sensitive=False)(*arguments)


def _request(scope: Any) -> ASGIRequest:
    """The upgrade as Django reads requests: headers, the peer, and what a proxy says of it."""
    scheme = {"ws": "http", "wss": "https"}.get(scope.get("scheme"), "http")
    http = {**scope, "type": "http", "method": "GET", "scheme": scheme}
    return ASGIRequest(http, BytesIO())


def _is_let_in(request: ASGIRequest) -> bool:
    """No browser, which would open it for any page; and no key over plain http (wake/middleware.py
    says why, and of which exception)."""
    if "Origin" in request.headers:
        return False
    on_loopback = settings.DEVELOPMENT and request.META.get("REMOTE_ADDR") in LOOPBACK
    return request.is_secure() or on_loopback


def _key_of(request: ASGIRequest) -> ApiKey | None:
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    now = timezone.now()
    key = keys.find(text.strip(), at=now) if scheme.lower() == "bearer" else None
    if key is None or key.lane != ApiKey.Lane.LIVE:
        return None
    keys.touch(key, at=now)
    return key
