"""Keeps a connector in touch with its relay, whatever happens to the connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from typing import Any

from wake_client.backoff import pauses
from wake_client.connector import frames
from wake_client.connector.connector import Connector
from wake_client.connector.frames import Frame
from wake_client.connector.links import (
    Broken,
    Link,
    NoWebSocket,
    OtherProtocol,
    PollingLink,
    Refused,
    polling,
    websocket,
)

logger = logging.getLogger(__name__)

SECONDS_FOR_A_WELCOME = 15.0
HEARTBEAT_SECONDS = 15.0


class NoWelcome(Exception):
    """The relay did not answer hello."""


async def stay_connected(connector: Connector, origin: str, key: str) -> None:
    """Until the connector has finished. Raises KeyNotValid, OtherProtocol, Replaced, and Refused
    where no connection was ever made.

    Every connection is first tried as a WebSocket: a machine moves between networks, and the one
    that lets none through may be gone.
    """
    waits = pauses()
    was_connected = has_failed = False
    while not connector.finished.is_set():
        greeted = asyncio.Event()
        try:
            try:
                async with (
                    websocket(origin, key) as link,
                    polling(origin, key, connector.instance_id) as beside,
                ):
                    await _converse(connector, link, beside, greeted)
            except (NoWebSocket, NoWelcome) as reason:
                logger.info("no WebSocket gets through (%s)", reason)
                async with polling(origin, key, connector.instance_id) as link:
                    await _converse(connector, link, link, greeted)
        except (Broken, NoWelcome, Refused) as reason:
            was_connected = was_connected or greeted.is_set()
            if isinstance(reason, Refused) and not was_connected:
                raise
            if connector.finished.is_set():
                return
            if greeted.is_set():
                waits = pauses()
            if not (was_connected or has_failed):
                logger.info("tasks wait until it answers; if it never does, look at --url")
            has_failed = True
            await _pause(connector, waits, f"{origin}: {reason}")


async def _converse(
    connector: Connector, link: Link, beside: PollingLink, greeted: asyncio.Event
) -> None:
    """Until the connector has finished, or the link breaks."""
    try:
        async with asyncio.timeout(SECONDS_FOR_A_WELCOME):
            received = await link.send([connector.hello()]) or await link.receive()
    except TimeoutError as error:
        raise NoWelcome(NoWelcome.__doc__) from error
    welcome = _welcome(received)
    greeted.set()
    logger.info("connected as %s, over %s", welcome.get("agent") or "?", link.name)
    connector.resume(welcome)
    for frame in received:
        connector.take(frame)
    await _first(
        _receive(connector, link),
        _send(connector, link),
        _keep_leases(connector, beside, float(welcome.get("heartbeat_s") or HEARTBEAT_SECONDS)),
        connector.finished.wait(),
    )
    # Again: the first was dropped with what was sending it, and a poll of ours that still waits
    # there would be given a task.
    await link.send([frames.drain()])
    while unsent := connector.unsent():
        await link.send(unsent)


def _welcome(received: list[Frame]) -> Frame:
    for frame in received:
        if frame.get("type") == "welcome":
            if frame.get("protocol") != frames.PROTOCOL:
                raise OtherProtocol(OtherProtocol.__doc__)
            return frame
    said = [frame.get("message") or frame.get("type") for frame in received]
    raise Broken(f"the relay did not welcome us, but said {said}")


async def _receive(connector: Connector, link: Link) -> None:
    while True:
        for frame in await link.receive():
            connector.take(frame)


async def _send(connector: Connector, link: Link) -> None:
    while True:
        for frame in await link.send(await connector.outgoing()):
            connector.take(frame)


async def _keep_leases(connector: Connector, beside: PollingLink, every: float) -> None:
    """A long result that goes up a slow line holds up what is behind it, for longer than a relay
    waits for a heartbeat: so one goes beside it."""
    while True:
        await asyncio.sleep(every)
        connector.heartbeat()
        if connector.sends_for_long:
            with suppress(Broken, Refused):
                for frame in await beside.send(connector.held_up()):
                    connector.take(frame)


async def _first(*works: Coroutine[Any, Any, Any]) -> None:
    """Until one of them ends, and as that one did; the others are dropped."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


async def _pause(connector: Connector, waits: Iterator[float], reason: str) -> None:
    seconds = next(waits)
    logger.info("not connected to %s; trying again in %.1f s", reason, seconds)
    with suppress(TimeoutError):
        await asyncio.wait_for(connector.finished.wait(), seconds)
