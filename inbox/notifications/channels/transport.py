"""Carries messages to other servers and back to plain words, for the sweep and for a test."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence

from django.core.mail import EmailMessage
from django.db import connection

from inbox.models import Channel
from inbox.notifications.channels.kinds.addresses import trusted
from inbox.notifications.channels.kinds.kind import CannotSend, Post, Result
from inbox.notifications.channels.kinds.registry import KINDS, kind_of
from inbox.notifications.channels.message import Message
from pages.mail import REFUSALS
from wake.callbacks.http_client import HttpClient, Outcome

log = logging.getLogger(__name__)

OpenClient = Callable[[], HttpClient]
Prepared = Post | EmailMessage | Outcome

FAILED_HERE = Outcome(error="something went wrong on our side")
ARRIVED = 200
# For each process: a test waits for another server and occupies one of its few threads.
CONCURRENT_TESTS = 2
_slots = threading.BoundedSemaphore(CONCURRENT_TESTS)


class Busy(Exception):
    """Another test is running. Nothing was sent; try again in ten seconds."""


def open_client() -> HttpClient:
    """Opens the one HTTP client, which may ask the hosts that the operator trusts."""
    return HttpClient(trusted=trusted())


def exchange(
    messages: Sequence[tuple[Channel, Message]], *, client: OpenClient = open_client
) -> list[Outcome]:
    """Sends each message through its channel, all at the same time, and returns the answers. It
    raises for none of them."""
    prepared = [_prepare(channel, message) for channel, message in messages]
    return asyncio.run(_send_all(prepared, client))


def post_all(posts: Sequence[Prepared], *, client: OpenClient = open_client) -> list[Outcome]:
    """Sends requests that belong to no message, all at the same time. What could not be prepared
    is an outcome already."""
    return asyncio.run(_send_all(posts, client))


def exchange_now(channel: Channel, message: Message) -> Outcome:
    """Sends one message while a person waits for the result; raises Busy."""
    if not _slots.acquire(blocking=False):
        raise Busy(Busy.__doc__)
    try:
        prepared = _prepare(channel, message)
        if not connection.in_atomic_block:
            connection.close()  # back to the pool, as in wake/api/long_poll.py
        (outcome,) = asyncio.run(_send_all([prepared], open_client))
        return outcome
    finally:
        _slots.release()


def read(channel: Channel, outcome: Outcome) -> Result:
    """Returns in plain words how sending ended."""
    return kind_of(channel.kind).read(channel, outcome)


def _prepare(channel: Channel, message: Message) -> Prepared:
    """A channel that cannot be prepared holds no other one back: its kind is unknown to this
    version, or the encryption key of its address is gone."""
    try:
        return KINDS[channel.kind].prepare(channel, message)
    except CannotSend as reason:
        return Outcome(error=str(reason))
    except Exception:
        log.exception("A message for channel %s cannot be prepared", channel.pk)
        return FAILED_HERE


async def _send_all(prepared: Sequence[Prepared], open_one: OpenClient) -> list[Outcome]:
    client = open_one()
    try:
        return list(await asyncio.gather(*(_send(each, client) for each in prepared)))
    finally:
        await client.close()


async def _send(prepared: Prepared, client: HttpClient) -> Outcome:
    match prepared:
        case Outcome():
            return prepared
        case Post():
            return await client.post(prepared.url, body=prepared.body, headers=prepared.headers)
    return await asyncio.to_thread(_mail, prepared)


def _mail(message: EmailMessage) -> Outcome:
    try:
        message.send()
    except REFUSALS as error:
        log.warning("The mail server refused a notification: %s", error)
        return Outcome(error="the mail server refused the message")
    except OSError as error:
        log.warning("No mail server takes a notification: %s", error)
        return Outcome(error="the mail server does not answer")
    return Outcome(status_code=ARRIVED)
