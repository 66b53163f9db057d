"""Mints and revokes the keys of those who call agents over A2A, and tells who is calling."""

from __future__ import annotations

import re
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest

from accounts import keys, throttles
from accounts.audit import Actor, record
from accounts.models import Team
from relay.models import CallerKey, Card

PREFIX = "wk_call_"
KEY = re.compile(rf"{PREFIX}[0-9A-Za-z]{{36}}", re.ASCII)


class UnknownCaller(Exception):
    """A caller key of this agent's team is needed, and what was sent is none that works."""


class NotLetIn(Exception):
    """This caller key works, but not for this agent."""


@transaction.atomic
def mint(
    team: Team, *, name: str, by: Actor, expires_at: datetime | None = None
) -> tuple[CallerKey, str]:
    """The row and the key itself, which is never to be had again. Raises ValidationError for a
    name of control characters, or none."""
    text = keys.new_text(PREFIX)
    key = CallerKey(
        team=team,
        name=name,
        hint=keys.hint_of(text),
        digest=keys.digest_of(text),
        issued_by=by.name[:80],
        expires_at=expires_at,
    )
    key.full_clean()
    key.save(force_insert=True)
    record("caller_key.issued", by=by, of=key, team=team, hint=key.hint)
    return key, text


@transaction.atomic
def revoke(key: CallerKey, *, by: Actor, at: datetime) -> None:
    """At once and for good; a second call changes nothing."""
    if CallerKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=at):
        record("caller_key.revoked", by=by, of=key, team=key.team_id, at=at, hint=key.hint)


def find(text: str, *, at: datetime) -> CallerKey | None:
    """The usable key; none at all, and no query, for a text that fails its own checksum."""
    if not KEY.fullmatch(text) or not keys.is_whole(text):
        return None
    return CallerKey.objects.usable(at).filter(digest=keys.digest_of(text)).first()


def touch(key: CallerKey, *, at: datetime) -> None:
    """Notes that the key was used, at most once a minute, so that reads stay reads."""
    since = at - keys.LAST_USED_EVERY
    if key.last_used_at is None or key.last_used_at < since:
        unused = Q(last_used_at__isnull=True) | Q(last_used_at__lt=since)
        CallerKey.objects.filter(unused, pk=key.pk).update(last_used_at=at)


def authenticate(request: HttpRequest, card: Card, *, at: datetime) -> CallerKey | None:
    """Who calls: None is somebody without a key, whom a public agent takes. Raises UnknownCaller,
    also where a public agent is sent a key that does not work: its holder must not lose their
    tasks to nobody. Raises NotLetIn, and throttles.TooMany for one bad key after the other."""
    credentials = request.headers.get("Authorization", "")
    scheme, _, text = credentials.partition(" ")
    key = find(text.strip(), at=at) if scheme.lower() == "bearer" else None
    if key is None and (credentials or not card.lets_in(None)):
        throttles.count_bad_key(request)
        raise UnknownCaller(UnknownCaller.__doc__)
    if key is not None:
        if not card.lets_in(key):
            raise NotLetIn(NotLetIn.__doc__)
        touch(key, at=at)
    return key
