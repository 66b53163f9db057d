"""Sends messages to other servers and describes the results, for the sweep and for a test."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence

from django.core.mail import EmailMessage

from database.turns import released
from inbox.models import Channel
from inbox.notifications.channels.kinds.addresses import trusted
from inbox.notifications.channels.kinds.kind import CannotSend, ChannelPost, SendResult
from inbox.notifications.channels.kinds.registry import KINDS, kind_of
from inbox.notifications.channels.message import ChannelMessage
from pages.mail import REFUSALS
from wake.callbacks.http_client import HttpClient, HttpResult

log = logging.getLogger(__name__)

OpenClient = Callable[[], HttpClient]
Prepared = ChannelPost | EmailMessage | HttpResult

FAILED_HERE = HttpResult(error="something went wrong on our side")
ARRIVED = 200
# The maximum of tests that run in each process. A test waits for another server and occupies one of
# the few threads.
CONCURRENT_TESTS = 2
_slots = threading.BoundedSemaphore(CONCURRENT_TESTS)


class TestIsRunning(Exception):
    """Another test is running. Nothing was sent; try again in ten seconds."""


def open_client() -> HttpClient:
    """Opens the one HTTP client, which may send requests to the hosts that the operator trusts."""
    return HttpClient(trusted=trusted())


def exchange(
    messages: Sequence[tuple[Channel, ChannelMessage]], *, client: OpenClient = open_client
) -> list[HttpResult]:
    """Sends each message through its channel, all at the same time, and returns the answers. A
    failed message raises no exception."""
    prepared = [_prepare(channel, message) for channel, message in messages]
    return asyncio.run(_send_all(prepared, client))


def post_all(posts: Sequence[Prepared], *, client: OpenClient = open_client) -> list[HttpResult]:
    """Sends requests that belong to no message, all at the same time. A request that could not be
    prepared is already a HttpResult."""
    return asyncio.run(_send_all(posts, client))


def exchange_now(channel: Channel, message: ChannelMessage) -> HttpResult:
    """Sends one message while a person waits for the result. Raises TestIsRunning."""
    if not _slots.acquire(blocking=False):
        raise TestIsRunning(TestIsRunning.__doc__)
    try:
        prepared = _prepare(channel, message)
        with released():
            (outcome,) = asyncio.run(_send_all([prepared], open_client))
        return outcome
    finally:
        _slots.release()


def read(channel: Channel, outcome: HttpResult) -> SendResult:
    """Describes in plain words how sending ended."""
    return kind_of(channel.kind).read(channel, outcome)


def _prepare(channel: Channel, message: ChannelMessage) -> Prepared:
    """Prepares a message. A channel cannot be prepared if this version does not know its kind, or
    if the encryption key of its address is missing. Such a channel does not hold back others."""
    try:
        return KINDS[channel.kind].prepare(channel, message)
    except CannotSend as reason:
        return HttpResult(error=str(reason))
    except Exception:
        log.exception("A message for channel %s cannot be prepared", channel.pk)
        return FAILED_HERE


async def _send_all(prepared: Sequence[Prepared], open_one: OpenClient) -> list[HttpResult]:
    client = open_one()
    try:
        return list(await asyncio.gather(*(_send(each, client) for each in prepared)))
    finally:
        await client.close()


async def _send(prepared: Prepared, client: HttpClient) -> HttpResult:
    match prepared:
        case HttpResult():
            return prepared
        case ChannelPost():
            return await client.post(prepared.url, body=prepared.body, headers=prepared.headers)
    return await asyncio.to_thread(_mail, prepared)


def _mail(message: EmailMessage) -> HttpResult:
    try:
        message.send()
    except REFUSALS as error:
        log.warning("The mail server refused a notification: %s", error)
        return HttpResult(error="the mail server refused the message")
    except OSError as error:
        log.warning("No mail server takes a notification: %s", error)
        return HttpResult(error="the mail server does not answer")
    return HttpResult(status_code=ARRIVED)
