"""Limits how much an agent may deliver, by a token bucket in the key's row. The limit is exact,
however many processes there are.

The bucket (capacity = burst, refill = hourly / 3600 a second) is stored as one integer: the time,
in microseconds since 1970, at which the bucket would be full again. The generic cell rate
algorithm (ITU-T I.371) works with this integer. The algorithm admits exactly the same requests as a
token bucket, and fits into a single conditional UPDATE.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Greatest

from accounts.audit import agent_actor, record
from accounts.models import ApiKey
from accounts.models.agents import is_usable
from database.clock import EPOCH, microseconds
from database.compiled_queries import parameter
from database.write_chains import NOW_US, Chain, Change, Lock, Stored

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
        """`own_limit` is the agent's own limit, or None if the server's limit was exceeded."""
        super().__init__(QuotaSpent.__doc__)
        self.allowance = allowance
        self.own_limit = own_limit


class KeyEnded(Exception):
    """The key was revoked or expired during the request."""


class AgentPaused(Exception):
    """A person has paused or archived this agent."""


def spend(key: ApiKey, *, now_us: int) -> Allowance:
    """Takes one token inside the caller's transaction. Raises QuotaSpent, or KeyEnded for a key
    that has just ended."""
    at = EPOCH + timedelta(microseconds=now_us)
    stored = _spending_alone().store(**values_of(key, at=at))
    if reason := refusal_in(stored, key, at=at):
        raise reason
    return allowance_at(stored.columns["spent", "quota_us"], now_us, *_rate_of(key))


@cache
def _spending_alone() -> Chain:
    return Chain(*spending())


def spending() -> tuple[Lock, Change]:
    """Returns the steps with which a chain of writes takes one token of a key."""
    latest_full_us, interval = (
        parameter(name, ApiKey, "quota_us") for name in ("latest_full_us", "interval")
    )
    key = Lock(
        "key",
        ApiKey.objects.filter(pk=parameter("key", ApiKey, "id")),
        returns=["quota_us"],
        conditions={
            "key_works": is_usable(parameter("at", ApiKey, "expires_at")),
            "has_quota": Q(quota_us__lte=latest_full_us),
        },
    )
    after = Greatest("quota_us", NOW_US) + interval
    return key, Change("spent", key, returns=["quota_us"], quota_us=after)


def values_of(key: ApiKey | None, *, at: datetime) -> dict[str, Any]:
    """Returns the values of the parameters of `spending`."""
    now_us = microseconds(at)
    values = {"at": at, "now_us": now_us}
    if key is None:
        return values
    interval, burst = _rate_of(key)
    latest_full_us = now_us + (burst - 1) * interval
    return {**values, "key": key.pk, "interval": interval, "latest_full_us": latest_full_us}


def allowance_in(stored: Stored, key: ApiKey | None, *, at: datetime) -> Allowance | None:
    """Returns the remaining quota of the key from which a chain of writes has taken a token, or
    None without a key."""
    if key is None:
        return None
    full_at = stored.columns["spent", "quota_us"]
    return allowance_at(full_at, microseconds(at), *_rate_of(key))


def refusal_in(stored: Stored, key: ApiKey | None, *, at: datetime) -> KeyEnded | QuotaSpent | None:
    """Returns why the key stopped a chain of writes, or None if the key did not stop the chain."""
    if key and "key_works" in stored.failed:
        return KeyEnded(KeyEnded.__doc__)
    if key and "has_quota" in stored.failed:
        return _quota_spent(key, stored.columns["key", "quota_us"], now_us=microseconds(at))
    return None


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
    """Returns the key's remaining quota, and takes nothing."""
    return allowance_at(key.quota_us, now_us, *_rate_of(key))


def quota_of(mode: str, own_limit: int | None = None) -> tuple[int, int]:
    """Returns the hourly quota and the burst of each key of this mode. An agent's own limit can
    only lower the server's."""
    hourly, burst = (
        settings.WAKE_QUOTA_LIVE if mode == ApiKey.Mode.LIVE else settings.WAKE_QUOTA_TEST
    )
    if own_limit is None or own_limit >= hourly:
        return hourly, burst
    return own_limit, min(burst, own_limit)


def carried_over(key: ApiKey, *, to: int | None, now_us: int) -> int:
    """Returns the key's `quota_us` under another limit of its agent.

    The time until the quota is full stays the same, or becomes longer if the spent tokens take
    longer to come back under the new limit. So changing the limit gives no token back. The time is
    at most that of an empty bucket, so the next token comes after one interval at most.
    """
    old, _ = rate_of(key.mode, key.agent.hourly_limit)
    new, burst = rate_of(key.mode, to)
    missing = max(0, key.quota_us - now_us)
    return now_us + min(burst * new, max(missing, missing * new // old))


def refusal(key: ApiKey, *, now_us: int, tokens: int = 1) -> KeyEnded | QuotaSpent:
    """Returns why the key may not deliver, and when it may deliver `tokens` together. A key never
    has more tokens than the burst. If `tokens` is larger, the returned time is later than the time
    at which the quota is full."""
    revoked_at, full_at = ApiKey.objects.values_list("revoked_at", "quota_us").get(pk=key.pk)
    if revoked_at is not None:
        return KeyEnded(KeyEnded.__doc__)
    return _quota_spent(key, full_at, now_us=now_us, tokens=tokens)


def _quota_spent(key: ApiKey, full_at: int, *, now_us: int, tokens: int = 1) -> QuotaSpent:
    own = key.agent.hourly_limit
    is_own = quota_of(key.mode, own) != quota_of(key.mode)
    allowance = allowance_at(full_at, now_us, *_rate_of(key), tokens=tokens)
    return QuotaSpent(allowance, own_limit=own if is_own else None)


def allowance_at(
    full_at: int, now_us: int, interval: int, burst: int, *, tokens: int = 1
) -> Allowance:
    """Returns the remaining quota of a key whose `quota_us` is `full_at`. The quota's `retry_after`
    is the time until this many `tokens` are available."""
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


def _rate_of(key: ApiKey) -> tuple[int, int]:
    return rate_of(key.mode, key.agent.hourly_limit)
