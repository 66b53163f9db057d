"""Queues callbacks. The row is the queue: it is written in the transaction that causes it, and a
worker sends it later (wake/callbacks/sending.py)."""

from __future__ import annotations

import json
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
from wake.callbacks import allowlist, circuit_breaker
from wake.callbacks.allowlist import Refused
from wake.callbacks.retries import ATTEMPTS_AT_MOST
from wake.models import Callback, Delivery, Response

ROWS_AT_ONCE = 200
UNREADABLE_HOST = "(unreadable)"  # not a valid host name, so it delays no other callback


class AlreadyDelivered(Exception):
    """This callback was already delivered."""


class NothingLeftToSend(Exception):
    """Its content was erased, so it cannot be sent again. The agent can still fetch the outcome."""


def queue(response: Response) -> Callback:
    """Queues the callback of `response`, whose delivery is loaded, inside the transaction that
    releases it. The callback is due at once."""
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
        at=response.answered_at,
    )
    url, host = _address(delivery)
    callback = Callback.objects.create(
        response=response,
        agent_id=delivery.agent_id,
        team_id=delivery.team_id,
        url=url,
        host=host,
        body=wire.encode(answer),
        due_at=response.responded_at,
    )
    signals.wake_worker_on_commit(Callback)
    return callback


@dataclass(frozen=True, slots=True)
class Post:
    """Describes a callback that carries no answer. `about` is the id of the row that it is about.
    Its headers are stored encrypted."""

    agent: Agent
    about: uuid.UUID
    url: str
    body: bytes
    headers: Mapping[str, str]
    due_at: datetime


def queue_others(posts: Iterable[Post], *, kind: str) -> list[Callback]:
    """Queues callbacks of a kind that its app has registered (wake/callbacks/kinds.py), inside the
    transaction that causes them."""
    callbacks = [
        Callback(
            kind=kind,
            about=post.about,
            agent=post.agent,
            team_id=post.agent.team_id,
            url=post.url,
            host=_host(post.url),
            headers_ciphertext=encryption.encrypt(json.dumps(dict(post.headers)).encode()).decode(),
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
    """Makes a failed callback due at once. The schedule of its retries stays as it is; one that was
    given up, or whose last try is under way, starts its schedule again. Raises NotAllowed,
    AlreadyDelivered or NothingLeftToSend."""
    callback = Callback.objects.select_for_update(of=("self",)).get(pk=callback.pk)
    if not may_answer(by, callback.team_id):
        raise NotAllowed(NotAllowed.__doc__)
    if callback.delivered_at is not None:
        raise AlreadyDelivered(AlreadyDelivered.__doc__)
    if callback.erased_at is not None:
        raise NothingLeftToSend(NothingLeftToSend.__doc__)
    if callback.given_up_at is not None or callback.tries >= ATTEMPTS_AT_MOST:
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


def _address(delivery: Delivery) -> tuple[Any, str]:
    """Returns the URL and the host. A URL whose encryption key is gone stays encrypted: each
    attempt fails until the key is back."""
    try:
        url = delivery.callback_webhook
    except Unreadable:
        return vars(delivery)["callback_webhook"], UNREADABLE_HOST
    return url, _host(url)


def _host(url: str) -> str:
    """Returns the host by which limits are counted, or an empty text for a URL that is refused only
    when it is sent."""
    try:
        return allowlist.parse(url).name
    except Refused:
        return ""
