"""Carries frames to the relay and back: over a WebSocket, or long polls if a proxy blocks those."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Protocol

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from wake_client.connector.frames import Frame
from wake_client.visible_text import shortened

PATH = "/connect/v1"
# Large enough for a conversation with its history. The relay is trusted, so this limit need not be
# tight.
MAX_FRAME_BYTES = 64 * 1024 * 1024
SECONDS_TO_CONNECT = 10.0
LONG_POLL_SECONDS = 25
# The time limit for a response, including the time that sending takes on a slow line.
RESPONSE_SECONDS = 60.0
# The relay sends a ping every 20 seconds in any case.
SECONDS_OF_SILENCE = 90.0
# Limits the frames of one request. A longer frame is sent alone.
MAX_BATCH_BYTES = 256 * 1024
MAX_BATCH_FRAMES = 1_000  # the relay takes no more at once
NOT_A_RELAY = "This is not a Wake server, or it does not run the relay: check --url."
KEY_NOT_VALID, OTHER_AGENT, OTHER_PROTOCOL, REPLACED = 4401, 4403, 4406, 4409
# A proxy answers with these status codes while the server behind it is away.
TEMPORARY_STATUSES = {429, 502, 503, 504}


class KeyNotValid(Exception):
    """The key is unknown, revoked or expired."""


class OtherProtocol(Exception):
    """The relay speaks another version of the connector's protocol."""


class Refused(Exception):
    """The relay refuses this connector."""


class Replaced(Exception):
    """A connector that was started later on this machine has replaced this one."""


class Disconnected(Exception):
    """The connection is lost or could not be made; the next try may succeed."""


class NoWebSocket(Exception):
    """A WebSocket cannot be opened here, for example because a proxy blocks it."""


class Transport(Protocol):
    """Sends and receives frames over one connection. Both methods raise Disconnected, KeyNotValid,
    OtherProtocol, Replaced and Refused."""

    name: str

    async def send(self, frames: list[Frame]) -> list[Frame]:
        """Returns the frames of the response, if this transport has responses."""
        ...

    async def receive(self) -> list[Frame]:
        """Waits for frames from the relay. May return no frames after a while."""
        ...


class WebSocketTransport:
    """Sends each frame as one text message."""

    name = "WebSocket"

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, frames: list[Frame]) -> list[Frame]:
        try:
            for frame in frames:
                await self._connection.send(json.dumps(frame))
        except ConnectionClosed as closed:
            raise _close_reason(closed) from closed
        return []

    async def ping(self) -> None:
        """Waits for the answer to a ping."""
        try:
            await (await self._connection.ping())
        except ConnectionClosed as closed:
            raise _close_reason(closed) from closed

    async def receive(self) -> list[Frame]:
        try:
            async with asyncio.timeout(SECONDS_OF_SILENCE):
                text = await self._connection.recv()
            return _objects([json.loads(text)])
        except TimeoutError as silence:
            raise Disconnected(f"the relay was silent for {SECONDS_OF_SILENCE:g} s") from silence
        except ConnectionClosed as closed:
            raise _close_reason(closed) from closed
        except ValueError as error:
            raise Disconnected("the relay sent something that is not JSON") from error


class _ConnectWithoutRedirects(connect):
    """Sends the key only to the address for which the key was given."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


@asynccontextmanager
async def websocket(origin: str, key: str) -> AsyncIterator[WebSocketTransport]:
    """Opens a WebSocket. Raises Disconnected, NoWebSocket and KeyNotValid."""
    opening = _ConnectWithoutRedirects(
        "ws" + origin.removeprefix("http") + PATH,
        additional_headers={"Authorization": f"Bearer {key}"},
        open_timeout=SECONDS_TO_CONNECT,
        max_size=MAX_FRAME_BYTES,
        # Pings wait behind a long result that is being sent, and would then close a working
        # connection. The heartbeats of both sides are enough.
        ping_interval=None,
    )
    try:
        connection = await opening
    except InvalidStatus as refusal:
        status = refusal.response.status_code
        if status == HTTPStatus.UNAUTHORIZED:
            raise KeyNotValid(KeyNotValid.__doc__) from refusal
        if status in TEMPORARY_STATUSES:
            raise Disconnected(f"the server answered {status}") from refusal
        raise NoWebSocket(f"the server answered {status}") from refusal
    except (InvalidHandshake, TimeoutError) as failure:
        raise NoWebSocket(type(failure).__name__) from failure
    except OSError as failure:
        raise Disconnected(str(failure)) from failure
    try:
        yield WebSocketTransport(connection)
    finally:
        await connection.close()


async def websocket_works(origin: str, key: str) -> bool:
    """Returns whether a WebSocket opens and carries frames in both directions. A proxy may open one
    and lose its frames."""
    try:
        async with asyncio.timeout(2 * SECONDS_TO_CONNECT), websocket(origin, key) as transport:
            await transport.ping()
    except (NoWebSocket, Disconnected, KeyNotValid, OtherProtocol, Replaced, Refused, TimeoutError):
        return False
    return True


class PollingTransport:
    """Uses `POST /connect/v1/poll`. Carries frames in HTTP requests. One request waits for frames,
    and other requests send frames."""

    name = "long polling"

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def send(self, frames: list[Frame]) -> list[Frame]:
        received: list[Frame] = []
        for batch in _batches(frames):
            received += await self._poll(batch, wait=0)
        return received

    async def receive(self) -> list[Frame]:
        return await self._poll([], wait=LONG_POLL_SECONDS)

    async def _poll(self, frames: list[Frame], *, wait: int) -> list[Frame]:
        try:
            response = await self._http.post(
                "/poll",
                params={"wait": str(wait)} if wait else {},
                json={"frames": frames},
                timeout=httpx.Timeout(
                    SECONDS_TO_CONNECT,
                    read=wait + SECONDS_TO_CONNECT if wait else RESPONSE_SECONDS,
                ),
            )
        except httpx.TransportError as failure:
            raise Disconnected(str(failure) or type(failure).__name__) from failure
        status = response.status_code
        if status == HTTPStatus.UNAUTHORIZED:
            raise KeyNotValid(KeyNotValid.__doc__)
        if status == HTTPStatus.CONFLICT and '"replaced"' in response.text:
            raise Replaced(Replaced.__doc__)
        if status == HTTPStatus.NOT_IMPLEMENTED:
            raise Refused(_refusal(response))
        if status in TEMPORARY_STATUSES or status >= 500 or status == HTTPStatus.CONFLICT:
            raise Disconnected(f"the server answered {status}")
        if status != HTTPStatus.OK:
            raise Refused(_refusal(response))
        try:
            return _objects(response.json()["frames"])
        except (ValueError, KeyError, TypeError) as error:
            raise Refused(NOT_A_RELAY) from error


@asynccontextmanager
async def polling(origin: str, key: str, instance_id: str) -> AsyncIterator[PollingTransport]:
    headers = {"Authorization": f"Bearer {key}", "X-Wake-Instance": instance_id}
    async with httpx.AsyncClient(base_url=origin + PATH, headers=headers) as http:
        yield PollingTransport(http)


async def agent_of(origin: str, key: str) -> str | None:
    """Returns the id of the key's agent, or None if the server is too old to send it. The id stays
    the same when the key is replaced. Raises Disconnected, KeyNotValid and Refused."""
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(headers=headers, timeout=SECONDS_TO_CONNECT) as http:
        try:
            response = await http.get(f"{origin}{PATH}/agent")
        except httpx.TransportError as failure:
            raise Disconnected(str(failure) or type(failure).__name__) from failure
    status = response.status_code
    if status == HTTPStatus.UNAUTHORIZED:
        raise KeyNotValid(KeyNotValid.__doc__)
    if status in TEMPORARY_STATUSES or status >= 500:
        raise Disconnected(f"the server answered {status}")
    if response.has_redirect_location:
        raise Refused(_refusal(response))
    if status != HTTPStatus.OK:
        return None
    try:
        return str(uuid.UUID(response.json()["id"]))
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(NOT_A_RELAY) from error


def _close_reason(closed: ConnectionClosed) -> Exception:
    """Returns the exception for the code with which the relay closed a WebSocket."""
    code = closed.rcvd.code if closed.rcvd else None
    kinds = {
        KEY_NOT_VALID: KeyNotValid,
        OTHER_AGENT: Refused,
        OTHER_PROTOCOL: OtherProtocol,
        REPLACED: Replaced,
    }
    kind = kinds.get(code or 0)
    return kind(kind.__doc__) if kind else Disconnected(str(closed))


def _refusal(response: httpx.Response) -> str:
    """Returns the server's reason, or a text without one."""
    if response.has_redirect_location:
        location = response.headers["Location"]
        return f"The server points to {location}. If that is your server, use it as --url."
    try:
        message = str(response.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"{NOT_A_RELAY} It answered {response.status_code}."
    return f"{Refused.__doc__} Its reason: {shortened(message, 300)}"


def _batches(frames: list[Frame]) -> Iterator[list[Frame]]:
    """Splits the frames, in order, so that many frames do not make one long request."""
    batch: list[Frame] = []
    size = 0
    for frame in frames:
        length = len(json.dumps(frame))
        is_full = size + length > MAX_BATCH_BYTES or len(batch) == MAX_BATCH_FRAMES
        if batch and is_full:
            yield batch
            batch, size = [], 0
        batch.append(frame)
        size += length
    yield batch


def _objects(received: list[Any]) -> list[Frame]:
    return [frame for frame in received if isinstance(frame, dict)]
