"""Mints and revokes the keys of those who call agents over A2A."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts import keys
from accounts.audit import Actor, record
from accounts.models import Team
from relay.models import CallerKey

PREFIX = "wk_call_"


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
