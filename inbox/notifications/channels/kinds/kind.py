"""Describes a kind of channel, and what it makes of a message."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from django.core.mail import EmailMessage

from inbox.models import Channel
from inbox.notifications.channels.message import Message
from wake.callbacks.http_client import Outcome

JSON = {"Content-Type": "application/json"}


class BadAddress(Exception):
    """This address cannot be used. The message says why, in the form."""


class CannotSend(Exception):
    """Nothing can be sent through this channel now. The message says why, and is shown."""


@dataclass(frozen=True, slots=True)
class Post:
    """One HTTP request, which the sender makes."""

    url: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: JSON)

    @classmethod
    def json(cls, url: str, content: Any, **headers: str) -> Post:
        return cls(url, json.dumps(content).encode(), {**JSON, **headers})


@dataclass(frozen=True, slots=True)
class Result:
    """How sending ended. `problem` is empty if it arrived, else it says in plain words what failed.
    `is_gone` means that this address will never work again, so that the channel is suspended at
    once. `retry_after` is in seconds, if the other side asked for it."""

    problem: str = ""
    is_gone: bool = False
    retry_after: int = 0

    @property
    def arrived(self) -> bool:
        return not self.problem


def read_status(channel: Channel, outcome: Outcome) -> Result:
    """Reads an answer by its status alone, which most kinds do."""
    if outcome.arrived:
        return Result()
    status = outcome.status_code
    if status is None:
        return Result(f"Not sent: {outcome.error}.")
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        return Result(f"This address no longer exists (HTTP {status}).", is_gone=True)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Result("Too many messages (HTTP 429).", retry_after=_seconds(outcome.retry_after))
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return Result(f"The server refused the message (HTTP {status}).")
    return Result(f"The server answered with HTTP {status}.")


def _seconds(text: str) -> int:
    return min(int(text), 86_400) if text.isascii() and text.isdigit() and len(text) < 9 else 0


@dataclass(frozen=True, slots=True)
class Kind:
    """Describes a kind of channel. `name` is stored with each row.

    A kind whose channels are added by the form on the channels page has an `address_label`; one
    that is added elsewhere (a browser, a linked account) has `added_at`, the name of that page's
    URL. `check` returns the address as it is stored, and raises BadAddress. `mask` returns what
    pages show of it, because an address can be a secret. `prepare` runs outside the event loop and
    may use the database; the sender sends what it returns. It may raise CannotSend. `read` says
    what an answer means; it runs in the transaction that settles the message, and may store
    something, too.
    """

    name: str
    title: str
    check: Callable[[str], str]
    mask: Callable[[str], str]
    prepare: Callable[[Channel, Message], Post | EmailMessage]
    read: Callable[[Channel, Outcome], Result] = read_status
    address_label: str = ""
    address_help: str = ""
    # A second field of the form, such as an access token; it is stored as the channel's secret.
    extra_label: str = ""
    extra_help: str = ""
    # Makes a secret, which is shown until the channel is verified.
    make_secret: Callable[[], str] | None = None
    added_at: str = ""
    # The text of the link to that page, if not the title.
    add_label: str = ""
    for_people: bool = True
    for_teams: bool = True
    # Verified as it is added: nothing is sent there that its owner did not ask for.
    needs_no_code: bool = False
    # What arrives from there acts for the person: adding asks for the password, and an address is
    # verified for one person only.
    links_account: bool = False
    is_available: Callable[[], bool] = lambda: True
