"""Keeps a connector connected to its relay, and carries frames between the two."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from wake_client.connector import frames
from wake_client.connector.connector import Connector
from wake_client.connector.frames import Frame
from wake_client.connector.transports import (
    Disconnected,
    NoWebSocket,
    OtherProtocol,
    PollingTransport,
    Refused,
    Transport,
    polling,
    websocket,
    websocket_works,
)
from wake_client.http.backoff import pauses

logger = logging.getLogger(__name__)

SECONDS_TO_WELCOME = 15.0
HEARTBEAT_SECONDS = 15.0
# A WebSocket that a busy server did not open in time would otherwise cost hours of long polls.
WEBSOCKET_AGAIN_SECONDS = 300.0


class NoWelcome(Exception):
    """The relay did not answer hello."""


async def stay_connected(
    connector: Connector, origin: str, key: str, *, again_seconds: float = WEBSOCKET_AGAIN_SECONDS
) -> None:
    """Reconnects until the connector has finished. Raises KeyNotValid, OtherProtocol and Replaced.
    Raises Refused if the relay has never accepted a connection.

    Each connection is first tried as a WebSocket, because a laptop moves between networks, and a
    proxy that blocked the last WebSocket may be gone. Over long polls, a WebSocket is tried again
    every `again_seconds`.
    """
    backoff = pauses()
    was_connected = has_failed = False
    while not connector.finished.is_set():
        welcomed = asyncio.Event()
        try:
            try:
                async with (
                    websocket(origin, key) as transport,
                    polling(origin, key, connector.instance_id) as side_channel,
                ):
                    await _exchange(connector, transport, side_channel, welcomed)
            except (NoWebSocket, NoWelcome) as reason:
                logger.info("a WebSocket cannot be opened (%s); using long polls", reason)
                async with polling(origin, key, connector.instance_id) as transport:
                    works = partial(_until_websocket_works, origin, key, every=again_seconds)
                    await _exchange(connector, transport, transport, welcomed, works)
                if not connector.finished.is_set():
                    logger.info("a WebSocket can be opened again")
        except (Disconnected, NoWelcome, Refused) as reason:
            was_connected = was_connected or welcomed.is_set()
            if isinstance(reason, Refused) and not was_connected:
                raise
            if connector.finished.is_set():
                return
            if welcomed.is_set():
                backoff = pauses()
            if not (was_connected or has_failed):
                logger.info("tasks wait until the server answers; if it never does, check --url")
            has_failed = True
            await _pause(connector, backoff, f"{origin}: {reason}")


async def _exchange(
    connector: Connector,
    transport: Transport,
    side_channel: PollingTransport,
    welcomed: asyncio.Event,
    *until: Callable[[], Coroutine[Any, Any, None]],
) -> None:
    """Carries frames until the connector has finished, the connection is lost, or one of the
    coroutines of `until` has ended."""
    try:
        async with asyncio.timeout(SECONDS_TO_WELCOME):
            received = await transport.send([connector.hello()]) or await transport.receive()
    except TimeoutError as error:
        raise NoWelcome(NoWelcome.__doc__) from error
    welcome = _welcome(received)
    welcomed.set()
    logger.info("connected as %s, over %s", welcome.get("agent") or "?", transport.name)
    connector.resume(welcome)
    for frame in received:
        connector.handle(frame)
    heartbeat_seconds = float(welcome.get("heartbeat_s") or HEARTBEAT_SECONDS)
    await _until_one_ends(
        _receive(connector, transport),
        _send(connector, transport),
        _send_heartbeats(connector, side_channel, heartbeat_seconds),
        connector.finished.wait(),
        *(wait() for wait in until),
    )
    if not connector.finished.is_set():
        return
    # The first drain may have been dropped when sending was canceled. Without this second drain,
    # the relay could give a task to one of our polls that still waits at the relay.
    await transport.send([frames.drain()])
    while unsent := connector.unsent():
        await transport.send(unsent)


def _welcome(received: list[Frame]) -> Frame:
    for frame in received:
        if frame.get("type") == "welcome":
            if frame.get("protocol") != frames.PROTOCOL:
                raise OtherProtocol(OtherProtocol.__doc__)
            return frame
    messages = [frame.get("message") or frame.get("type") for frame in received]
    raise Disconnected(f"the relay sent no welcome but {messages}")


async def _receive(connector: Connector, transport: Transport) -> None:
    while True:
        for frame in await transport.receive():
            connector.handle(frame)


async def _send(connector: Connector, transport: Transport) -> None:
    while True:
        for frame in await transport.send(await connector.outgoing()):
            connector.handle(frame)


async def _send_heartbeats(
    connector: Connector, side_channel: PollingTransport, every: float
) -> None:
    """Renews the leases of this connector's runs.

    On a slow line, a heartbeat would wait behind a long result for longer than the relay waits for
    a heartbeat. So the heartbeat is sent by its own request.
    """
    while True:
        await asyncio.sleep(every)
        connector.heartbeat()
        if connector.is_sending_long_result:
            with suppress(Disconnected, Refused):
                for frame in await side_channel.send(connector.urgent()):
                    connector.handle(frame)


async def _until_websocket_works(origin: str, key: str, *, every: float) -> None:
    while True:
        await asyncio.sleep(every)
        if await websocket_works(origin, key):
            return


async def _until_one_ends(*coroutines: Coroutine[Any, Any, Any]) -> None:
    """Waits until one of the coroutines ends, and cancels the others. Raises the exception of the
    ended coroutine."""
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


async def _pause(connector: Connector, backoff: Iterator[float], reason: str) -> None:
    seconds = next(backoff)
    logger.info("not connected to %s; trying again in %.1f s", reason, seconds)
    with suppress(TimeoutError):
        await asyncio.wait_for(connector.finished.wait(), seconds)
