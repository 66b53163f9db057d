"""Serves the WebSocket that a connector holds open. The server reads the connector's rows when a
notification reports a change. The server also reads these rows every few seconds, because a
notification may be lost."""

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

from accounts.access.moves import TeamMoved, TeamMoving, refuse_moved_key
from accounts.agents import keys
from accounts.agents.limits import count_bad_key
from accounts.agents.topics import topic_of
from accounts.limits.throttles import TooManyRequests, client_address
from accounts.models import ApiKey
from database import notifications, outages
from database.clock import database_now
from relay.connector import session as connect
from relay.connector.session import ConnectorSession
from relay.protocol.dialects import Json
from wake.api import log_context
from wake.server.http.middleware import LOOPBACK

logger = logging.getLogger(__name__)

# A proxy takes a connection for dead after a silent minute.
PING_EVERY_SECONDS = 20.0
ANSWER_SECONDS = 10.0
PING = {"type": "ping"}
FAILED, TRY_AGAIN_LATER = 1011, 1013  # RFC 6455 and its registry
MAX_REASON = 120  # bytes; a control frame has at most 125 (RFC 6455, 5.5)


class ConnectConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # no types
    async def connect(self) -> None:
        self._session: ConnectorSession | None = None
        self._ending: tuple[int, str] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._one_at_a_time = asyncio.Lock()
        request = _request(self.scope)
        if not _is_admitted(request):
            await self.close()  # the connection was not accepted yet, so this is a 403
            return
        await self.accept()
        try:
            key = await _in_thread(_key_of, request)
        except TooManyRequests:
            await self.close(TRY_AGAIN_LATER, "Too many bad keys from this address.")
            return
        except (TeamMoving, TeamMoved) as reason:
            await self.close(TRY_AGAIN_LATER, str(reason)[:MAX_REASON])
            return
        except Exception as error:
            if not outages.will_pass(error):
                raise
            await self._give_up(error)
            return
        if key is None:
            await self.close(connect.KEY_REFUSED)
            return
        self._session = ConnectorSession(
            key, transport="websocket", address=client_address(request)
        )
        self._looking = asyncio.create_task(self._poll())

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
            try:
                await _in_thread(lambda: session.leave(at=database_now()))
            except Exception as error:
                # The connector's silence ends the connection a little later.
                if not outages.will_pass(error):
                    raise

    async def _poll(self) -> None:
        if session := self._session:
            loop, woken = asyncio.get_running_loop(), asyncio.Event()

            def wake() -> None:
                with suppress(RuntimeError):  # the loop is closed: the server ends
                    loop.call_soon_threadsafe(woken.set)

            with notifications.listening(topic_of(session.key.agent_id), wake):
                await self._look_when(woken)
        await asyncio.sleep(ANSWER_SECONDS)
        if self._ending:
            await self.close(*self._ending)

    async def _look_when(self, woken: asyncio.Event) -> None:
        """Sends new frames until the session ends. `woken` is set when there may be new frames."""
        pinged_at = time.monotonic()
        while session := self._session:
            woken.clear()
            await self._say(partial(_poll, session))
            if time.monotonic() - pinged_at > PING_EVERY_SECONDS:
                pinged_at = time.monotonic()
                await self._say(lambda: [PING])
            with suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), notifications.pause_seconds())

    async def _say(self, work: Callable[[], list[Json]]) -> None:
        """Sends the frames of the session, and closes the connection after its last frame."""
        async with self._one_at_a_time:
            if (session := self._session) is None:
                return
            try:
                frames = await _in_thread(work)
            except Exception as error:  # without this, no one would notice that the loop has ended
                if outages.will_pass(error):
                    await self._give_up(error)
                else:
                    logger.exception("The conversation with a connector failed")
                    await self._end(FAILED, "Something on our side failed.")
                return
            if session.closes:
                await self._end(session.closes, frames[-1]["message"])
                return
            for frame in frames:
                await self.send(text_data=json.dumps(frame, ensure_ascii=False))

    async def _give_up(self, error: Exception) -> None:
        logger.warning("The database failed: %s", error)
        outages.forget_dead(error)
        why = "The database is away." if outages.is_away(error) else "The server is busy."
        await self._end(TRY_AGAIN_LATER, why)

    async def _end(self, code: int, reason: str) -> None:
        """Closes the connection. Granian (2.8) sends no close frame while it waits for a frame from
        the other side. So a reason that is found meanwhile is sent when the answer to a ping
        arrives."""
        self._session, self._ending = None, (code, reason)
        if asyncio.current_task() is self._looking:
            await self.send(text_data=json.dumps(PING))
        else:
            await self.close(code, reason)


class NothingHere(AsyncWebsocketConsumer):  # type: ignore[misc]  # no types
    """Refuses every other WebSocket with a 403."""

    async def connect(self) -> None:
        await self.close()


def _poll(session: ConnectorSession) -> list[Json]:
    return session.look(at=database_now())


async def _in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
    """Runs work in any free thread. The thread returns its database connection immediately.
    Otherwise all sockets of the process would share Django's single thread for thread-sensitive
    code."""
    return await database_sync_to_async(work, thread_sensitive=False)(*arguments)


def _request(scope: Any) -> ASGIRequest:
    """Returns the upgrade as a Django request, with its headers and the address of the peer."""
    scheme = {"ws": "http", "wss": "https"}.get(scope.get("scheme"), "http")
    http = {**scope, "type": "http", "method": "GET", "scheme": scheme}
    return ASGIRequest(http, BytesIO())


def _is_admitted(request: ASGIRequest) -> bool:
    """Refuses browsers, which would open the socket for any page. Also refuses keys over plain http
    (wake/server/http/middleware.py gives the reason and the exception)."""
    if "Origin" in request.headers:
        return False
    on_loopback = settings.DEVELOPMENT and request.META.get("REMOTE_ADDR") in LOOPBACK
    return request.is_secure() or on_loopback


def _key_of(request: ASGIRequest) -> ApiKey | None:
    """Returns the key of the request. Raises TooMany after many bad keys, as the REST API does.
    Raises TeamMoving or TeamMoved for a key whose team moves."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    text = text.strip() if scheme.lower() == "bearer" else ""
    key = keys.look_up(text)
    if key is None or key.mode != ApiKey.Mode.LIVE or not key.is_usable(now := database_now()):
        refuse_moved_key(text)
        count_bad_key(request)
        return None
    keys.touch(key, at=now)
    facts = log_context.current()
    facts.route, facts.key, facts.team = request.path, key.hint, key.agent.team_id
    return key
