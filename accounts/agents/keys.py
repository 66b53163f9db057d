"""Mints API keys, and looks up the key that a request sends.

A key is `wk_live_` or `wk_test_`, 30 random base62 digits (178 bits) and their CRC32 in six more,
so that random texts and typing errors are refused without a query. Only the SHA-256 is stored: a
random key needs no slow hash.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
import zlib
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Exists, Q
from django.db.models.functions import Now

from accounts.agents.quota import KeyEnded
from accounts.agents.topics import topic_of
from accounts.audit import Actor, record
from accounts.models import Agent, ApiKey
from database import clock
from database.clock import database_now
from database.compiled_queries import CompiledQuery, parameter
from database.notifications import notify

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
KEY = re.compile(r"wk_(?:live|test)_[0-9A-Za-z]{36}", re.ASCII)
LAST_USED_EVERY = timedelta(minutes=1)
# Each key has its own quota, so unlimited keys would be unlimited deliveries. This is enough for
# one key on each machine that an agent runs on, and for rotating them one after the other.
MOST_USABLE = 25
REMEMBERED_SECONDS = 60
MOST_REMEMBERED = 10_000


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
    Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)  # one key at a time
    if agent.keys.usable(database_now()).count() >= MOST_USABLE:
        raise TooManyKeys(TooManyKeys.__doc__)
    text = new_text(f"wk_{mode}_")
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
    Agent.objects.select_for_update(no_key=True).get(pk=key.agent_id)  # first, as deliveries do
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
    """Revokes the key at once and for good; a second call changes nothing."""
    if ApiKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=at):
        record("key.revoked", by=by, of=key, team=key.agent.team_id, agent=key.agent.agent_id)
        notify(topic_of(key.agent_id))


def find(text: str, *, at: datetime) -> ApiKey | None:
    """Returns the key with its agent if it is usable at that time."""
    key = look_up(text)
    return key if key and key.is_usable(at) else None


def look_up(text: str) -> ApiKey | None:
    """Returns the key with its agent, usable or not. The one query also reads the database's clock.
    A text whose checksum is wrong needs no query."""
    return _by(digest_of(text)) if KEY.fullmatch(text) and is_whole(text) else None


def look_up_again(key: ApiKey, *, at: datetime) -> ApiKey:
    """Returns a key that was only remembered as it is now. Raises KeyEnded."""
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
    clock.note(vars(keys[0])["now"], asked_at=asked_at)
    return keys[0]


def remembered(text: str) -> ApiKey | None:
    """Returns the key with its agent as this process found it, up to a minute ago; looks it up if
    it is not remembered.

    It may have ended since. Only for callers whose own statement says that the key is usable now,
    for instance by is_usable_now() (docs/decisions/0027-hot-reads-remember-their-key.md).
    """
    digest = digest_of(text)
    # A look-up reads the database's clock, too, which every caller needs next.
    entry = _remembered.get(digest) if clock.is_fresh() else None
    if entry and clock.ticks() - entry.looked_up_at < REMEMBERED_SECONDS * 1_000_000:
        return entry.key
    key = look_up(text)
    if key:
        _remember(key)
    return key


def _remember(key: ApiKey) -> None:
    if len(_remembered) >= MOST_REMEMBERED:
        _remembered.clear()
    _remembered[key.digest] = _Remembered(key, clock.ticks())


def is_usable_now(key: Any, at: Any) -> Exists:
    """Returns a condition for the statement of a caller that only remembers the key."""
    return Exists(ApiKey.objects.usable(at).filter(pk=key))


def check_again(key: ApiKey, *, at: datetime) -> None:
    """Raises KeyEnded if the key has ended since it was looked up."""
    if not ApiKey.objects.usable(at).filter(pk=key.pk).exists():
        raise KeyEnded(KeyEnded.__doc__)


def touch(key: ApiKey, *, at: datetime) -> None:
    """Stores when the key was last used, at most once a minute, so that few reads write."""
    if key.last_used_at is None or key.last_used_at < at - LAST_USED_EVERY:
        ApiKey.objects.filter(pk=key.pk).filter(
            Q(last_used_at__isnull=True) | Q(last_used_at__lt=at - LAST_USED_EVERY)
        ).update(last_used_at=at)
        key.last_used_at = at  # it may be remembered


class _Remembered(NamedTuple):
    key: ApiKey
    looked_up_at: int


# By digest, because a text that works stays out of memory where it is not needed.
_remembered: dict[str, _Remembered] = {}


@cache
def _by_digest() -> CompiledQuery:
    keys = ApiKey.objects.filter(digest=parameter("digest", ApiKey, "digest"))
    return CompiledQuery(lambda: keys.select_related("agent").annotate(now=Now()))


def new_text(prefix: str) -> str:
    body = prefix + "".join(secrets.choice(BASE62) for _ in range(30))
    return body + _checksum(body)


def is_whole(text: str) -> bool:
    return secrets.compare_digest(_checksum(text[:-6]), text[-6:])


def hint_of(text: str) -> str:
    """Returns the part of a key that tells it apart on pages. It does not reveal the rest."""
    return f"{text[:12]}…{text[-4:]}"


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _checksum(body: str) -> str:
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = BASE62[digit] + digits
    return digits
