"""The two ways to the relay: a WebSocket, and long polls where a proxy lets none through."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Protocol

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from wake_client.connector.frames import Frame

PATH = "/connect/v1"
# Of a conversation with its history; the relay sends nothing to be afraid of.
MOST_BYTES = 64 * 1024 * 1024
SECONDS_TO_CONNECT = 10.0
LONGEST_POLL = 25
# For an answer to what was sent, with all that is still on its way up a slow line.
SECONDS_FOR_AN_ANSWER = 60.0
# The relay has a ping every 20 seconds, whatever else there is.
SECONDS_OF_SILENCE = 90.0
# Of the frames that are sent in one request. A longer one is sent alone.
BYTES_TOGETHER = 256 * 1024
NO_RELAY = "What answers is no Wake server, or only a part of one: look at --url."
KEY_NOT_VALID, OTHER_AGENT, OTHER_PROTOCOL, REPLACED = 4401, 4403, 4406, 4409
# What a proxy says while the server behind it is away.
PASSING = {429, 502, 503, 504}


class KeyNotValid(Exception):
    """The key is not valid any more: it was revoked, it expired, or it never was."""


class OtherProtocol(Exception):
    """The relay speaks another version of the connector's protocol."""


class Refused(Exception):
    """The relay will have no connector of this kind."""


class Replaced(Exception):
    """A connector that was started later on this machine took the place of this one."""


class Broken(Exception):
    """The connection is lost, or could not be made; another may be."""


class NoWebSocket(Exception):
    """Something on the way lets no WebSocket through."""


class Link(Protocol):
    """One connection. Both raise Broken, KeyNotValid, OtherProtocol, Replaced, Refused."""

    name: str

    async def send(self, frames: list[Frame]) -> list[Frame]:
        """What the relay answered at once, if this kind of link has answers."""

    async def receive(self) -> list[Frame]:
        """What the relay has to say, as soon as there is something, or after a while nothing."""


class WebSocketLink:
    """One frame a text message."""

    name = "WebSocket"

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, frames: list[Frame]) -> list[Frame]:
        try:
            for frame in frames:
                await self._connection.send(json.dumps(frame))
        except ConnectionClosed as closed:
            raise _reason(closed) from closed
        return []

    async def receive(self) -> list[Frame]:
        try:
            async with asyncio.timeout(SECONDS_OF_SILENCE):
                text = await self._connection.recv()
            return _frames([json.loads(text)])
        except TimeoutError as silence:
            raise Broken(f"nothing was heard for {SECONDS_OF_SILENCE:g} s") from silence
        except ConnectionClosed as closed:
            raise _reason(closed) from closed
        except ValueError as error:
            raise Broken("the relay sent something that is not JSON") from error


class _Straight(connect):
    """A key is for the address that it was given with, and for none that this points to."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


@asynccontextmanager
async def websocket(origin: str, key: str) -> AsyncIterator[WebSocketLink]:
    """Raises Broken, NoWebSocket, KeyNotValid."""
    opening = _Straight(
        "ws" + origin.removeprefix("http") + PATH,
        additional_headers={"Authorization": f"Bearer {key}"},
        open_timeout=SECONDS_TO_CONNECT,
        max_size=MOST_BYTES,
        # Its pings wait behind a long result that is being sent, and it would take the connection
        # for dead. The heartbeats of both sides are enough.
        ping_interval=None,
    )
    try:
        connection = await opening
    except InvalidStatus as refusal:
        status = refusal.response.status_code
        if status == HTTPStatus.UNAUTHORIZED:
            raise KeyNotValid(KeyNotValid.__doc__) from refusal
        if status in PASSING:
            raise Broken(f"the server answered {status}") from refusal
        raise NoWebSocket(f"answered {status}") from refusal
    except (InvalidHandshake, TimeoutError) as failure:
        raise NoWebSocket(type(failure).__name__) from failure
    except OSError as failure:
        raise Broken(str(failure)) from failure
    try:
        yield WebSocketLink(connection)
    finally:
        await connection.close()


class PollingLink:
    """`POST /connect/v1/poll`: one that waits for frames, and beside it, at once, what is to be
    sent."""

    name = "long polling"

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def send(self, frames: list[Frame]) -> list[Frame]:
        answers: list[Frame] = []
        for few in _together(frames):
            answers += await self._poll(few, wait=0)
        return answers

    async def receive(self) -> list[Frame]:
        return await self._poll([], wait=LONGEST_POLL)

    async def _poll(self, frames: list[Frame], *, wait: int) -> list[Frame]:
        try:
            response = await self._http.post(
                "/poll",
                params={"wait": str(wait)} if wait else {},
                json={"frames": frames},
                timeout=httpx.Timeout(
                    SECONDS_TO_CONNECT,
                    read=wait + SECONDS_TO_CONNECT if wait else SECONDS_FOR_AN_ANSWER,
                ),
            )
        except httpx.TransportError as failure:
            raise Broken(str(failure) or type(failure).__name__) from failure
        status = response.status_code
        if status == HTTPStatus.UNAUTHORIZED:
            raise KeyNotValid(KeyNotValid.__doc__)
        if status == HTTPStatus.CONFLICT and '"replaced"' in response.text:
            raise Replaced(Replaced.__doc__)
        if status == HTTPStatus.NOT_IMPLEMENTED:
            raise Refused(_refusal(response))
        if status in PASSING or status >= 500 or status == HTTPStatus.CONFLICT:
            raise Broken(f"the server answered {status}")
        if status != HTTPStatus.OK:
            raise Refused(_refusal(response))
        try:
            return _frames(response.json()["frames"])
        except (ValueError, KeyError, TypeError) as error:
            raise Refused(NO_RELAY) from error


@asynccontextmanager
async def polling(origin: str, key: str, instance_id: str) -> AsyncIterator[PollingLink]:
    headers = {"Authorization": f"Bearer {key}", "X-Wake-Instance": instance_id}
    async with httpx.AsyncClient(base_url=origin + PATH, headers=headers) as http:
        yield PollingLink(http)


def _reason(closed: ConnectionClosed) -> Exception:
    """Why the relay closed a WebSocket."""
    code = closed.rcvd.code if closed.rcvd else None
    kinds = {
        KEY_NOT_VALID: KeyNotValid,
        OTHER_AGENT: Refused,
        OTHER_PROTOCOL: OtherProtocol,
        REPLACED: Replaced,
    }
    kind = kinds.get(code or 0)
    return kind(kind.__doc__) if kind else Broken(str(closed))


def _refusal(response: httpx.Response) -> str:
    """Its own reason, where it is a relay and has one."""
    if response.has_redirect_location:
        where = response.headers["Location"]
        return f"The server points to {where}: if that is yours, too, give --url its address."
    try:
        said = str(response.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"{NO_RELAY} It answered {response.status_code}."
    return f"{Refused.__doc__} It says: {said[:300]}"


def _together(frames: list[Frame]) -> Iterator[list[Frame]]:
    """In order, so that no request is long because there are many."""
    few: list[Frame] = []
    size = 0
    for frame in frames:
        length = len(json.dumps(frame))
        if few and size + length > BYTES_TOGETHER:
            yield few
            few, size = [], 0
        few.append(frame)
        size += length
    yield few


def _frames(received: list[Any]) -> list[Frame]:
    return [frame for frame in received if isinstance(frame, dict)]
