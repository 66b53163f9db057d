"""Describes a kind of channel, and how it formats a message."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from django.core.mail import EmailMessage

from inbox.models import Channel
from inbox.notifications.channels.message import ChannelMessage
from wake.callbacks.http_client import HttpResult

JSON = {"Content-Type": "application/json"}


class BadAddress(Exception):
    """This address cannot be used. The message says why, in the form."""


class CannotSend(Exception):
    """Nothing can be sent through this channel now. The exception's message gives the reason, and
    is shown to people."""


@dataclass(frozen=True, slots=True)
class ChannelPost:
    """Describes one HTTP request, which the sender makes."""

    url: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: JSON)

    @classmethod
    def json(cls, url: str, content: Any, **headers: str) -> ChannelPost:
        return cls(url, json.dumps(content).encode(), {**JSON, **headers})


@dataclass(frozen=True, slots=True)
class SendResult:
    """Describes how sending ended. `problem` names the failure in plain words, and is empty if the
    message arrived. `is_gone` means that this address will never work again, so the channel is
    suspended immediately. `retry_after` is in seconds, if the other side asked for it."""

    problem: str = ""
    is_gone: bool = False
    retry_after: int = 0

    @property
    def arrived(self) -> bool:
        return not self.problem


def read_status(channel: Channel, outcome: HttpResult) -> SendResult:
    """Reads an answer by its status alone, as most kinds do."""
    if outcome.arrived:
        return SendResult()
    status = outcome.status_code
    if status is None:
        return SendResult(f"Not sent: {outcome.error}.")
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        return SendResult(f"This address no longer exists (HTTP {status}).", is_gone=True)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return SendResult(
            "Too many messages (HTTP 429).", retry_after=_seconds(outcome.retry_after)
        )
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return SendResult(f"The server refused the message (HTTP {status}).")
    return SendResult(f"The server answered with HTTP {status}.")


def _seconds(text: str) -> int:
    return min(int(text), 86_400) if text.isascii() and text.isdigit() and len(text) < 9 else 0


@dataclass(frozen=True, slots=True)
class ChannelKind:
    """Describes a kind of channel. `name` is stored with each row.

    A kind has an `address_label` if the form on the channels page adds its channels. A kind whose
    channels are added on another page (a browser, a linked account) has the name of that page in
    `added_at`. `check` returns the address in its stored form, and raises BadAddress. `mask`
    returns the part of the address that pages show, because an address can be a secret. `prepare`
    runs outside the event loop and may use the database; the sender sends its result. `prepare` may
    raise CannotSend. `read` interprets an answer. `read` runs in the transaction that settles the
    message, and may store data, too.
    """

    name: str
    title: str
    check: Callable[[str], str]
    mask: Callable[[str], str]
    prepare: Callable[[Channel, ChannelMessage], ChannelPost | EmailMessage]
    read: Callable[[Channel, HttpResult], SendResult] = read_status
    address_label: str = ""
    address_help: str = ""
    # A second field of the form, such as an access token, which is stored as the channel's secret.
    extra_label: str = ""
    extra_help: str = ""
    # Generates a secret, which is shown until the channel is verified.
    make_secret: Callable[[], str] | None = None
    added_at: str = ""
    # The text of the link to the page `added_at`, if the text is not the title of the kind.
    add_label: str = ""
    for_people: bool = True
    for_teams: bool = True
    # The channel is verified as it is added, because its owner asked for everything that is sent
    # there.
    needs_no_code: bool = False
    # True if requests from the channel's service act for the person, as presses in Slack do. Adding
    # such a channel therefore asks for the password, and only one person can verify the same
    # address.
    links_account: bool = False
    is_available: Callable[[], bool] = lambda: True
