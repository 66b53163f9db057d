"""Queues callbacks. The row is the queue: it is written in the transaction that causes it, and a
worker sends it later (wake/callbacks/sending.py)."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.access.objects import NotAllowed, may_answer
from accounts.audit import person, record
from accounts.models import Agent, User
from database import encryption
from database.encryption import Unreadable
from wake import signals, wire
from wake.callbacks import allowlist, circuit_breaker, traces
from wake.callbacks.allowlist import AddressRefused
from wake.callbacks.retries import MAX_ATTEMPTS
from wake.models import Callback, Delivery, Response
from wake.proof import receipts

log = logging.getLogger(__name__)

RECEIPT_HEADER = "Wake-Receipt"
ROWS_AT_ONCE = 200
UNREADABLE_HOST = "(unreadable)"  # no host has this name, so no other callback waits for it


class AlreadyDelivered(Exception):
    """This callback was already delivered."""


class NothingLeftToSend(Exception):
    """Its content was erased, so it cannot be sent again. The agent can still fetch the outcome."""


def queue(response: Response) -> Callback:
    """Queues the callback of `response`, whose delivery must be loaded, inside the transaction that
    releases it. The callback is due immediately."""
    delivery = response.delivery
    answer = wire.answer(
        delivery_id=delivery.pk,
        expires_at=delivery.expires_at,
        status=response.status,
        feedback=response.feedback,
        edited_json=response.edited_json,
        answered_at=response.answered_at,
        responded_at=response.responded_at,
        quorum_json=response.quorum_json,
        is_by_rule=response.rule_version_id is not None,
        digest=delivery.content_hash if delivery.wants_digest else None,
        nonce=delivery.nonce if delivery.wants_digest else "",
        at=response.answered_at,
    )
    url, host = _address(delivery)
    headers = _receipt(response) if delivery.wants_receipt else {}
    if delivery.traceparent:
        headers[traces.HEADER] = delivery.traceparent
    callback = Callback.objects.create(
        response=response,
        agent_id=delivery.agent_id,
        team_id=delivery.team_id,
        url=url,
        host=host,
        headers_ciphertext=_encrypted(headers) if headers else "",
        body=wire.encode(answer),
        due_at=response.responded_at,
    )
    signals.wake_worker_on_commit(Callback)
    return callback


def _receipt(response: Response) -> dict[str, str]:
    """Returns the header with the receipt. Returns no header while the encryption key of the
    signing key is missing. The answer must not wait for that key, and the agent can fetch the
    receipt later."""
    try:
        receipt = receipts.receipt_of(response, at=response.responded_at or response.answered_at)
        return {RECEIPT_HEADER: receipts.for_callback(receipt)}
    except Unreadable:
        log.warning("The callback of %s is sent without its receipt", response.delivery_id)
        return {}


def _encrypted(headers: Mapping[str, str]) -> str:
    return encryption.encrypt(json.dumps(dict(headers)).encode()).decode()


@dataclass(frozen=True, slots=True)
class CallbackPost:
    """Describes a callback that carries no answer. `about` is the id of the row of its subject. Its
    headers are stored encrypted."""

    agent: Agent
    about: uuid.UUID
    url: str
    body: bytes
    headers: Mapping[str, str]
    due_at: datetime


def queue_others(posts: Iterable[CallbackPost], *, kind: str) -> list[Callback]:
    """Queues callbacks of a registered kind (wake/callbacks/kinds.py), inside the transaction that
    causes them."""
    callbacks = [
        Callback(
            kind=kind,
            about=post.about,
            agent=post.agent,
            team_id=post.agent.team_id,
            url=post.url,
            host=_host(post.url),
            headers_ciphertext=_encrypted(post.headers),
            body=post.body,
            due_at=post.due_at,
        )
        for post in posts
    ]
    Callback.objects.bulk_create(callbacks, batch_size=ROWS_AT_ONCE)
    if callbacks:
        signals.wake_worker_on_commit(Callback)
    return callbacks


@transaction.atomic
def send_again(callback: Callback, *, by: User, at: datetime, address: str = "") -> None:
    """Makes a failed callback due immediately. The schedule of its retries stays the same, unless
    the callback was given up or its last try is under way. In those two cases the schedule starts
    again. Raises NotAllowed, AlreadyDelivered or NothingLeftToSend."""
    callback = Callback.objects.select_for_update(of=("self",)).get(pk=callback.pk)
    if not may_answer(by, callback.team_id):
        raise NotAllowed(NotAllowed.__doc__)
    if callback.delivered_at is not None:
        raise AlreadyDelivered(AlreadyDelivered.__doc__)
    if callback.erased_at is not None:
        raise NothingLeftToSend(NothingLeftToSend.__doc__)
    if callback.given_up_at is not None or callback.tries >= MAX_ATTEMPTS:
        callback.given_up_at = None
        callback.tries = 0
    callback.due_at = at
    callback.asked_by_name = by.display_name
    callback.save(update_fields=["given_up_at", "tries", "due_at", "asked_by_name"])
    circuit_breaker.reset(callback.target, at=at)
    record(
        "callback.sent_again",
        by=person(by, address),
        of=callback.subject,
        team=callback.team_id,
        at=at,
        host=callback.host,
    )
    signals.wake_worker_on_commit(Callback)


def masked_address(delivery: Delivery) -> str:
    """Returns the URL of the delivery's callback as people see it, or an empty text."""
    url = delivery.callback_webhook
    return allowlist.masked(url) if url else ""


def _address(delivery: Delivery) -> tuple[Any, str]:
    """Returns the URL and the host. A URL whose encryption key is gone stays encrypted: each
    attempt fails until the key is back."""
    try:
        url = delivery.callback_webhook
    except Unreadable:
        return vars(delivery)["callback_webhook"], UNREADABLE_HOST
    return url, _host(url)


def _host(url: str) -> str:
    """Returns the host for the host limits, or an empty text if the URL has no valid host. A URL
    without a valid host is refused when the callback is sent."""
    try:
        return allowlist.parse(url).name
    except AddressRefused:
        return ""
