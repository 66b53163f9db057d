"""Mints API keys, and looks up the key that a request sends.

A key is `wk_live_` or `wk_test_` and random digits (accounts/access/key_texts.py).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Exists, Q
from django.db.models.functions import Now

from accounts.access.key_texts import digest_of, form_of, hint_of, is_whole, new_key
from accounts.agents.quota import KeyEnded
from accounts.agents.topics import topic_of
from accounts.audit import Actor, record
from accounts.models import Agent, ApiKey
from database import clock
from database.clock import database_now
from database.compiled_queries import CompiledQuery, parameter
from database.notifications import notify

KEY = form_of("live", "test")
LAST_USED_EVERY = timedelta(minutes=1)
# Each key has its own quota, so unlimited keys would allow unlimited deliveries. This number is
# enough for one key on each machine that an agent runs on, and for rotating these keys one after
# the other.
MAX_USABLE = 25
REMEMBERED_SECONDS = 60
MAX_REMEMBERED = 10_000


class TooManyKeys(Exception):
    """This agent has 25 usable keys. Revoke one that is no longer needed, then try again."""


class NoLongerWorks(Exception):
    """This key was revoked or has expired. Issue a new one."""


@transaction.atomic
def mint(
    agent: Agent, *, by: Actor, mode: str = ApiKey.Mode.LIVE, expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """Issues a key; returns its row and its text, which cannot be shown again. Raises
    TooManyKeys."""
    Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)  # only one key at a time
    check_room(agent, at=database_now())
    text = new_key(mode)
    key = ApiKey.objects.create(
        agent=agent,
        mode=mode,
        hint=hint_of(text),
        digest=digest_of(text),
        issued_by=by.name[:80],
        expires_at=expires_at,
    )
    record("key.issued", by=by, of=key, team=agent.team_id, agent=agent.agent_id, lane=mode)
    return key, text


def check_room(agent: Agent, *, at: datetime) -> None:
    """Raises TooManyKeys if the agent can have no other key."""
    if agent.keys.without_grants().usable(at).count() >= MAX_USABLE:
        raise TooManyKeys(TooManyKeys.__doc__)


@transaction.atomic
def rotate(
    key: ApiKey,
    *,
    by: Actor,
    overlap: timedelta,
    at: datetime,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """Issues a new key of the same agent and mode. The old one works for `overlap` longer, but
    never past its own expiry. Raises NoLongerWorks if the old key was revoked or has expired, and
    TooManyKeys."""
    # The agent is locked before the key, as in deliveries.
    Agent.objects.select_for_update(no_key=True).get(pk=key.agent_id)
    old = ApiKey.objects.select_for_update(of=("self",)).select_related("agent").get(pk=key.pk)
    if not old.is_usable(at):
        raise NoLongerWorks(NoLongerWorks.__doc__)
    ends = at + overlap
    old.expires_at = min(old.expires_at, ends) if old.expires_at else ends
    old.save(update_fields=["expires_at"])
    new, text = mint(old.agent, by=by, mode=old.mode, expires_at=expires_at)
    record(
        "key.rotated",
        by=by,
        of=old,
        team=old.agent.team_id,
        agent=old.agent.agent_id,
        to=new.hint,
        until=old.expires_at.isoformat(),
    )
    return new, text


@transaction.atomic
def revoke(key: ApiKey, *, by: Actor, at: datetime) -> None:
    """Revokes the key immediately and permanently. A second call changes nothing."""
    if stop(key, at=at):
        record("key.revoked", by=by, of=key, team=key.agent.team_id, agent=key.agent.agent_id)


def stop(key: ApiKey, *, at: datetime) -> bool:
    """Ends the key and the requests that wait with it, inside the caller's transaction. Returns
    whether it had not ended before."""
    if not ApiKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=at):
        return False
    notify(topic_of(key.agent_id))
    return True


def find(text: str, *, at: datetime) -> ApiKey | None:
    """Returns the key with its agent if it is usable at that time."""
    key = look_up(text)
    return key if key and key.is_usable(at) else None


def look_up(text: str) -> ApiKey | None:
    """Returns the key with its agent, usable or not. The same query also reads the database's
    clock. A text whose checksum is wrong needs no query."""
    return _by(digest_of(text)) if KEY.fullmatch(text) and is_whole(text) else None


def look_up_again(key: ApiKey, *, at: datetime) -> ApiKey:
    """Returns a remembered key in its present state. Raises KeyEnded."""
    again = _by(key.digest)
    if again is None or not again.is_usable(at):
        raise KeyEnded(KeyEnded.__doc__)
    _remember(again)
    return again


def _by(digest: str) -> ApiKey | None:
    asked_at = clock.ticks()
    keys: list[ApiKey] = _by_digest().objects(digest=digest)
    if not keys:
        return None
    clock.record(vars(keys[0])["now"], asked_at=asked_at)
    return keys[0]


def remembered(text: str) -> ApiKey | None:
    """Returns the key with its agent. Key and agent may be up to a minute old, because this process
    remembers them. Looks the key up if this process does not remember it.

    The remembered key may have ended since it was looked up. So only callers whose own statement
    checks that the key is usable now may call this function. The condition for that check is
    is_usable_now() (docs/decisions/0027-hot-reads-remember-their-key.md).
    """
    if not KEY.fullmatch(text):
        return None  # a client's access token is remembered, too, but is no key
    digest = digest_of(text)
    # A look-up also reads the database's clock, and every caller needs that time next.
    entry = _remembered.get(digest) if clock.is_fresh() else None
    if entry and clock.ticks() - entry.looked_up_at < REMEMBERED_SECONDS * 1_000_000:
        return entry.key
    key = look_up(text)
    if key:
        _remember(key)
    return key


def _remember(key: ApiKey) -> None:
    if len(_remembered) >= MAX_REMEMBERED:
        _remembered.clear()
    _remembered[key.digest] = _Remembered(key, clock.ticks())


def is_usable_now(key: Any, at: Any) -> Exists:
    """Returns the condition that a remembered key is usable at `at`, for the caller's statement."""
    return Exists(ApiKey.objects.usable(at).filter(pk=key))


def check_again(key: ApiKey, *, at: datetime) -> None:
    """Raises KeyEnded if the key has ended since it was looked up."""
    if not ApiKey.objects.usable(at).filter(pk=key.pk).exists():
        raise KeyEnded(KeyEnded.__doc__)


def touch(key: ApiKey, *, at: datetime) -> None:
    """Stores when the key was last used, at most once a minute, so that reads seldom write."""
    if key.last_used_at is None or key.last_used_at < at - LAST_USED_EVERY:
        ApiKey.objects.filter(pk=key.pk).filter(
            Q(last_used_at__isnull=True) | Q(last_used_at__lt=at - LAST_USED_EVERY)
        ).update(last_used_at=at)
        key.last_used_at = at  # keeps a remembered key up to date


class _Remembered(NamedTuple):
    key: ApiKey
    looked_up_at: int


# The cache stores keys under their digest, so that no working key stays in memory.
_remembered: dict[str, _Remembered] = {}


@cache
def _by_digest() -> CompiledQuery:
    keys = ApiKey.objects.filter(digest=parameter("digest", ApiKey, "digest"))
    return CompiledQuery(lambda: keys.select_related("agent").annotate(now=Now()))
