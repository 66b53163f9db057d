"""Sends a callback that carries an answer. Such a callback goes to a host on the team's list, and
is signed with the secret of its agent."""

from __future__ import annotations

from datetime import datetime
from functools import cache

from accounts.agents.signing_secrets import secrets_of
from wake.callbacks import allowlist, signatures
from wake.callbacks.kinds import ANSWER, Headers, Kind
from wake.models import Callback


def start_batch() -> Headers:
    """Returns a function that checks each URL, and reads each agent's secrets, only once."""
    check, secrets = cache(allowlist.check), cache(secrets_of)

    def headers(callback: Callback, at: datetime) -> dict[str, str]:
        assert callback.response is not None  # noqa: S101 - for the type checker: it is an answer
        check(callback.url, team_id=callback.team_id)
        signed = signatures.sign(
            bytes(callback.body),
            secrets=secrets(callback.agent_id),
            message_id=str(callback.pk),
            at=at,
        )
        return (
            signed
            | callback.headers
            | {
                "X-Wake-Delivery-Id": str(callback.response.delivery_id),
                "Content-Type": "application/json",
            }
        )

    return headers


KIND = Kind(
    name=ANSWER,
    title="Callback",
    title_of_many="Callbacks",
    needs_allowlist=True,
    start_batch=start_batch,
)
