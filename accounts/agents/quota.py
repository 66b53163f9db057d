"""Limits how much an agent may deliver, by a token bucket in the key's row, exact across processes.

The bucket (capacity = burst, refill = hourly / 3600 a second) is stored as one integer: the
instant, in microseconds since 1970, at which it would be full again. That is the generic cell rate
algorithm (ITU-T I.371), which admits exactly what a token bucket admits and fits into a single
conditional UPDATE.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q

from accounts.audit import agent_actor, record
from accounts.models import ApiKey

RECORDED_EVERY = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Allowance:
    """Holds the key's remaining quota: burst size, deliveries left, and seconds until the quota is
    full and until one more delivery is allowed."""

    limit: int
    remaining: int
    full_in: int
    retry_after: int = 0


class QuotaSpent(Exception):
    """This key has delivered as much as it may for now."""

    def __init__(self, allowance: Allowance, *, own_limit: int | None = None) -> None:
        """Takes the agent's own limit as `own_limit` if that was exceeded, not the server's."""
        super().__init__(QuotaSpent.__doc__)
        self.allowance = allowance
        self.own_limit = own_limit


class KeyEnded(Exception):
    """The key was revoked or expired during the request."""


class AgentPaused(Exception):
    """A person has paused or archived this agent."""


def spend(key: ApiKey, *, now_us: int) -> Allowance:
    """Takes one token inside the caller's transaction; raises QuotaSpent, or KeyEnded for a key
    that just ended."""
    interval, burst = rate_of(key.mode, key.agent.hourly_limit)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE accounts_apikey
               SET quota_us = CASE WHEN quota_us > %s THEN quota_us ELSE %s END + %s
             WHERE id = %s AND quota_us <= %s AND revoked_at IS NULL
            RETURNING quota_us
            """,
            [now_us, now_us, interval, _pk(key.pk), now_us + (burst - 1) * interval],
        )
        row = cursor.fetchone()
    if row is None:
        raise refusal(key, now_us=now_us)
    return allowance_at(row[0], now_us, interval, burst)


@transaction.atomic
def record_refusal(key: ApiKey, *, address: str = "", at: datetime) -> None:
    """Records that a key exceeded its quota, at most once in ten minutes, because an agent in a
    loop exceeds it all the time."""
    not_lately = Q(slowed_at__isnull=True) | Q(slowed_at__lte=at - RECORDED_EVERY)
    if ApiKey.objects.filter(not_lately, pk=key.pk).update(slowed_at=at):
        agent = key.agent
        by = agent_actor(agent, address)
        record("key.slowed_down", by=by, of=key, team=agent.team_id, at=at, agent=agent.agent_id)


def allowance_of(key: ApiKey, *, now_us: int) -> Allowance:
    """Returns what is left of the key's quota, and takes nothing."""
    return allowance_at(key.quota_us, now_us, *rate_of(key.mode, key.agent.hourly_limit))


def quota_of(mode: str, own_limit: int | None = None) -> tuple[int, int]:
    """Returns the hourly quota and the burst of each key of this mode. An agent's own limit lowers
    the server's, and never raises it."""
    hourly, burst = (
        settings.WAKE_QUOTA_LIVE if mode == ApiKey.Mode.LIVE else settings.WAKE_QUOTA_TEST
    )
    if own_limit is None or own_limit >= hourly:
        return hourly, burst
    return own_limit, min(burst, own_limit)


def carried_over(key: ApiKey, *, to: int | None, now_us: int) -> int:
    """Returns the key's `quota_us` under another limit of its agent.

    What was spent stays spent, in tokens and in time, so that changing the limit frees nothing. A
    key without quota waits for one token at most.
    """
    old, _ = rate_of(key.mode, key.agent.hourly_limit)
    new, burst = rate_of(key.mode, to)
    missing = max(0, key.quota_us - now_us)
    return now_us + min(burst * new, max(missing, missing * new // old))


def refusal(key: ApiKey, *, now_us: int, tokens: int = 1) -> KeyEnded | QuotaSpent:
    """Returns why the key may not deliver, and when it may deliver `tokens` at once. More than the
    burst is never possible; the time is then later than that of a full quota."""
    revoked_at, full_at = ApiKey.objects.values_list("revoked_at", "quota_us").get(pk=key.pk)
    if revoked_at is not None:
        return KeyEnded(KeyEnded.__doc__)
    own = key.agent.hourly_limit
    is_own = quota_of(key.mode, own) != quota_of(key.mode)
    allowance = allowance_at(full_at, now_us, *rate_of(key.mode, own), tokens=tokens)
    return QuotaSpent(allowance, own_limit=own if is_own else None)


def allowance_at(
    full_at: int, now_us: int, interval: int, burst: int, *, tokens: int = 1
) -> Allowance:
    """Returns what is left in a key's row whose `quota_us` is `full_at`; `retry_after` is for so
    many tokens."""
    missing = max(0, full_at - now_us)
    wait = missing - (burst - tokens) * interval
    return Allowance(
        limit=burst,
        remaining=max(0, (burst * interval - missing) // interval),
        full_in=-(-missing // 1_000_000),
        retry_after=max(1, -(-wait // 1_000_000)) if wait > 0 else 0,
    )


def rate_of(mode: str, own_limit: int | None) -> tuple[int, int]:
    """Returns the microseconds for a token, and the burst. The interval is rounded up, so that the
    hourly quota is never exceeded."""
    hourly, burst = quota_of(mode, own_limit)
    return -(-3_600_000_000 // hourly), burst


def _pk(value: UUID) -> UUID | str:
    """Returns a UUID as the database stores it: on SQLite as its 32 hex digits."""
    return value if connection.vendor == "postgresql" else value.hex
