"""Issues and rotates the `whsec_` secrets that sign an agent's callbacks."""

from __future__ import annotations

import base64
import secrets
from datetime import datetime
from functools import cache
from uuid import UUID

from django.db import transaction

from accounts.audit import Actor, record
from accounts.models import Agent, SigningSecret
from database import encryption
from database.compiled_queries import CompiledQuery, parameter


class SecretUnreadable(Exception):
    """A signing secret cannot be decrypted: WAKE_ENCRYPTION_KEYS lacks the key that it was stored
    with."""


class RotationInProgress(Exception):
    """Two secrets are already active. Retire the older one first."""


@transaction.atomic
def ensure_secret(agent: Agent, *, by: Actor) -> str | None:
    """Issues a secret to an agent that has none, and returns the secret. Returns None if the agent
    already has one."""
    Agent.objects.select_for_update().get(pk=agent.pk)
    if agent.signing_secrets.in_use().exists():
        return None
    return _store(agent, by=by, event="secret.issued")


@transaction.atomic
def rotate_secret(agent: Agent, *, by: Actor) -> str:
    """Issues a second secret. Both secrets sign `webhook-signature` until `switch_secret`. Raises
    RotationInProgress."""
    Agent.objects.select_for_update().get(pk=agent.pk)
    if agent.signing_secrets.in_use().count() > 1:
        raise RotationInProgress(RotationInProgress.__doc__)
    return _store(agent, by=by, event="secret.rotated")


@transaction.atomic
def switch_secret(agent: Agent, *, by: Actor, at: datetime) -> None:
    """Retires all but the newest secret, which signs every header from now on."""
    Agent.objects.select_for_update().get(pk=agent.pk)
    newest = agent.signing_secrets.in_use().last()
    if newest is None:
        return
    retired = agent.signing_secrets.in_use().exclude(pk=newest.pk).update(retired_at=at)
    if retired:
        record("secret.switched", by=by, of=agent, team=agent.team_id)


def secrets_of(agent_pk: UUID) -> list[str]:
    """Returns the secrets in use, oldest first (docs/protocol.md, Signatures). Raises
    SecretUnreadable."""
    try:
        return [
            encryption.decrypt(ciphertext.encode()).decode()
            for (ciphertext,) in _in_use().rows(agent=agent_pk)
        ]
    except encryption.Unreadable as error:
        raise SecretUnreadable(SecretUnreadable.__doc__) from error


@cache
def _in_use() -> CompiledQuery:
    rows = SigningSecret.objects.in_use().filter(agent=parameter("agent", SigningSecret, "agent"))
    return CompiledQuery(lambda: rows.values_list("ciphertext"))


def _store(agent: Agent, *, by: Actor, event: str) -> str:
    # 32 bytes in base64 follow the prefix. Standard Webhooks sign with these bytes, and the
    # specification signs with the whole text.
    text = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    ciphertext = encryption.encrypt(text.encode()).decode()
    SigningSecret.objects.create(agent=agent, ciphertext=ciphertext)
    record(event, by=by, of=agent, team=agent.team_id)
    return text
