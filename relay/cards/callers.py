"""Mints and revokes the keys of callers over A2A, and authenticates callers."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest

from accounts.access.key_texts import digest_of, form_of, hint_of, is_whole, new_key
from accounts.agents import keys
from accounts.agents.limits import count_bad_key
from accounts.audit import Actor, record
from accounts.limits import turn_groups
from accounts.models import Team
from database.notifications import notify
from relay.cards.topics import ACCESS_TOPIC
from relay.models import CallerKey, Card
from wake.api import log_context

KIND = "call"
KEY = form_of(KIND)


class UnknownCaller(Exception):
    """This agent needs a caller key of its team. The request has none, or one that is not valid."""


class CallerNotAllowed(Exception):
    """This caller key is valid, but it may not call this agent."""


@transaction.atomic
def mint(
    team: Team, *, name: str, by: Actor, expires_at: datetime | None = None
) -> tuple[CallerKey, str]:
    """Returns the row and the key itself, which is not stored and cannot be shown again. Raises
    ValidationError for an empty name or one with control characters."""
    text = new_key(KIND)
    key = CallerKey(
        team=team,
        name=name,
        hint=hint_of(text),
        digest=digest_of(text),
        issued_by=by.name[:80],
        expires_at=expires_at,
    )
    key.full_clean()
    key.save(force_insert=True)
    record("caller_key.issued", by=by, of=key, team=team, hint=key.hint)
    return key, text


@transaction.atomic
def revoke(key: CallerKey, *, by: Actor, at: datetime) -> None:
    """Revokes a key permanently. A second call changes nothing."""
    if CallerKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=at):
        notify(ACCESS_TOPIC)
        record("caller_key.revoked", by=by, of=key, team=key.team_id, at=at, hint=key.hint)


def find(text: str, *, at: datetime) -> CallerKey | None:
    """Returns the usable key, or None. A text whose checksum is wrong needs no query."""
    if not KEY.fullmatch(text) or not is_whole(text):
        return None
    return CallerKey.objects.usable(at).filter(digest=digest_of(text)).first()


def touch(key: CallerKey, *, at: datetime) -> None:
    """Stores when the key was last used, at most once a minute, so that reads seldom write. Also
    adds the key to what the log says of this request."""
    facts = log_context.current()
    facts.key, facts.team = key.hint, key.team_id
    since = at - keys.LAST_USED_EVERY
    if key.last_used_at is None or key.last_used_at < since:
        unused = Q(last_used_at__isnull=True) | Q(last_used_at__lt=since)
        CallerKey.objects.filter(unused, pk=key.pk).update(last_used_at=at)
        key.last_used_at = at  # keeps a cached key up to date


def bearer_of(request: HttpRequest) -> str:
    """Returns the text of the key that the request sends, or an empty text if it sends none."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def authenticate(request: HttpRequest, card: Card, *, at: datetime) -> CallerKey | None:
    """Returns the caller's key, or None for an anonymous caller of a public agent. An invalid key
    raises UnknownCaller even for a public agent: as an anonymous caller, its holder would not find
    their tasks again. Raises CallerNotAllowed, and throttles.TooManyRequests after too many bad
    keys."""
    text = bearer_of(request)
    key = find(text, at=at) if text else None
    if key is None and (request.headers.get("Authorization") or not card.accepts(None)):
        count_bad_key(request)
        raise UnknownCaller(UnknownCaller.__doc__)
    if key is not None:
        if not card.accepts(key):
            raise CallerNotAllowed(CallerNotAllowed.__doc__)
        turn_groups.accept(f"team {key.team_id}")
        touch(key, at=at)
    return key
