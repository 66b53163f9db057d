"""Sends a test callback, which carries no answer, so that a person sees how the receiver reacts."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime
from uuid import uuid4

from accounts.agents.signing_secrets import SecretUnreadable, secrets_of
from accounts.audit import Actor, record
from accounts.models import Agent
from database.turns import released
from wake import wire
from wake.callbacks import allowlist, signatures
from wake.callbacks.allowlist import AddressRefused
from wake.callbacks.http_client import HttpClient, HttpResult
from wake.callbacks.signatures import NoSecret

# This many may run in each process. A test waits for another server and occupies one of the few
# threads.
CONCURRENT_TESTS = 2
BUSY = "Another test is running. Nothing was sent; try again in ten seconds."
_slots = threading.BoundedSemaphore(CONCURRENT_TESTS)


def send_test_callback(agent: Agent, url: str, *, by: Actor, at: datetime) -> HttpResult:
    """Sends one attempt, signed like every callback of this agent, and waits for its outcome.

    The body says `pending` for a delivery that does not exist, so that no receiver takes the test
    for an answer (docs/protocol.md, Callbacks). If nothing was sent, `error` says why.
    """
    unused_id = uuid4()
    body = wire.encode(wire.answer(delivery_id=unused_id, expires_at=None, at=at))
    try:
        allowlist.check(url, team_id=agent.team_id)
        secrets = secrets_of(agent.pk)
        headers = signatures.sign(body, secrets=secrets, message_id=str(unused_id), at=at)
    except (AddressRefused, NoSecret, SecretUnreadable) as reason:
        return HttpResult(error=str(reason))
    headers |= {"X-Wake-Delivery-Id": str(unused_id), "Content-Type": "application/json"}
    host = allowlist.parse(url).name
    if not _slots.acquire(blocking=False):
        return HttpResult(error=BUSY)
    try:
        record("callback.rehearsed", by=by, of=agent, team=agent.team_id, at=at, host=host)
        with released():
            return asyncio.run(_post(url, body=body, headers=headers))
    finally:
        _slots.release()


async def _post(url: str, *, body: bytes, headers: dict[str, str]) -> HttpResult:
    client = HttpClient()
    try:
        return await client.post(url, body=body, headers=headers)
    finally:
        await client.close()
