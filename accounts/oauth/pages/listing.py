"""Describes the clients that people connected: what each grant allows now, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from oauth2_provider.models import RefreshToken

from accounts.agents.quota import Allowance, allowance_of
from accounts.models import OAuthGrant
from database.clock import microseconds

APPROVED, EXPIRED = "approved", "expired"


@dataclass(frozen=True, slots=True)
class GrantLine:
    """Shows one grant. `may_end` is set until the grant is over. `allowance` is set while the
    client is connected, also while it is asleep and its access token has expired."""

    grant: OAuthGrant
    state: str
    tone: str
    may_end: bool
    allowance: Allowance | None

    @property
    def is_connected(self) -> bool:
        return self.allowance is not None


def grant_lines(grants: QuerySet[OAuthGrant], *, at: datetime) -> list[GrantLine]:
    """Returns the grants: connected clients first, newest on top. Leaves out clients that never
    came for their token. Makes one query."""
    lines = [
        _line(grant, at)
        for grant in with_refresh(grants).order_by("-created_at", "pk")
        if grant.is_exchanged or grant.key.is_usable(at)
    ]
    return sorted(lines, key=lambda line: not line.is_connected)


def with_refresh(grants: QuerySet[OAuthGrant]) -> QuerySet[OAuthGrant]:
    """Adds what `state_of` reads: whether the client has a refresh token."""
    kept = RefreshToken.objects.filter(token_family=OuterRef("family"), revoked__isnull=True)
    related = grants.select_related("key__agent__team", "person")
    return related.annotate(has_refresh_token=Exists(kept))


def state_of(grant: Any, at: datetime) -> str:
    """Returns the state in words. The grant comes from `with_refresh`. An access token that is over
    says nothing, because the client refreshes it when it needs one."""
    if grant.key.revoked_at is not None:
        return "Ended"
    if grant.ends_at is not None and grant.ends_at <= at:
        return "Expired"
    if not grant.is_exchanged:
        return "Connecting" if grant.key.is_usable(at) else "Never connected"
    if grant.has_refresh_token or grant.key.is_usable(at):
        return "Connected"
    return "Signed out"


def may_end(grant: OAuthGrant, at: datetime) -> bool:
    return grant.key.revoked_at is None and (grant.ends_at is None or grant.ends_at > at)


def _line(grant: OAuthGrant, at: datetime) -> GrantLine:
    state = state_of(grant, at)
    is_connected = state == "Connected"
    return GrantLine(
        grant=grant,
        state=state,
        tone=APPROVED if is_connected else EXPIRED,
        may_end=may_end(grant, at),
        allowance=allowance_of(grant.key, now_us=microseconds(at)) if is_connected else None,
    )
