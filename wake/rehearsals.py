"""Sends a callback that carries no answer, so that a person sees what comes of one."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime
from uuid import uuid4

from django.db import connection

from accounts.audit import Actor, record
from accounts.models import Agent
from accounts.signing_secrets import SecretUnreadable, secrets_of
from wake import destinations, signatures, wire
from wake.destinations import Door, Outcome, Refused
from wake.signatures import NoSecret

# Of each process: whoever waits for another server has one of its few threads meanwhile.
AT_ONCE = 2
BUSY = "Others are testing in this moment. Nothing was sent; try again in ten seconds."
_places = threading.BoundedSemaphore(AT_ONCE)


def rehearse(agent: Agent, url: str, *, by: Actor, at: datetime) -> Outcome:
    """One try, signed like every callback of this agent, and waited for. Its body says `pending` of
    a delivery that nobody made, so that no receiver takes it for an answer (docs/protocol.md,
    Callbacks). Where nothing was sent, `error` says why."""
    made_up = uuid4()
    body = wire.encode(wire.answer(delivery_id=made_up, expires_at=None, at=at))
    try:
        destinations.check(url, team_id=agent.team_id)
        secrets = secrets_of(agent.pk)
        headers = signatures.sign(body, secrets=secrets, message_id=str(made_up), at=at)
    except (Refused, NoSecret, SecretUnreadable) as reason:
        return Outcome(error=str(reason))
    headers |= {"X-Wake-Delivery-Id": str(made_up), "Content-Type": "application/json"}
    host = destinations.parse(url).name
    if not _places.acquire(blocking=False):
        return Outcome(error=BUSY)
    try:
        record("callback.rehearsed", by=by, of=agent, team=agent.team_id, at=at, host=host)
        if not connection.in_atomic_block:
            connection.close()  # back to the pool, as in wake/waiting.py
        return asyncio.run(_post(url, body=body, headers=headers))
    finally:
        _places.release()


async def _post(url: str, *, body: bytes, headers: dict[str, str]) -> Outcome:
    door = Door()
    try:
        return await door.post(url, body=body, headers=headers)
    finally:
        await door.close()
