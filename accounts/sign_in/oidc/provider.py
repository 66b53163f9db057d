"""Describes the OpenID Connect provider that the operator configured (docs/sign-in.md)."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from accounts.audit import Actor
from pages.characters.addresses import ascii_domain


@dataclass(frozen=True, slots=True)
class Provider:
    """Copies the settings WAKE_OIDC_*. `groups` has (group, team slug, role)."""

    issuer: str
    client_id: str
    client_secret: str
    name: str
    scopes: str
    domains: frozenset[str]
    groups: tuple[tuple[str, str, str], ...]
    groups_claim: str
    directory_claim: str
    always_asks_second_factor: bool
    asks_again: bool

    @property
    def actor(self) -> Actor:
        return Actor("provider", name=self.name)


def configured() -> Provider | None:
    """Returns the sign-in provider of the settings. Returns None if people sign in with passwords
    only."""
    if not settings.WAKE_OIDC_ISSUER:
        return None
    return Provider(
        issuer=settings.WAKE_OIDC_ISSUER,
        client_id=settings.WAKE_OIDC_CLIENT_ID,
        client_secret=settings.WAKE_OIDC_CLIENT_SECRET,
        name=settings.WAKE_OIDC_NAME,
        scopes=settings.WAKE_OIDC_SCOPES,
        domains=frozenset(map(ascii_domain, settings.WAKE_OIDC_DOMAINS)) - {""},
        groups=tuple(settings.WAKE_OIDC_GROUPS),
        groups_claim=settings.WAKE_OIDC_GROUPS_CLAIM,
        directory_claim=settings.WAKE_SCIM_ID_CLAIM,
        always_asks_second_factor=settings.WAKE_OIDC_SECOND_FACTOR,
        asks_again=settings.WAKE_OIDC_ASKS_AGAIN,
    )
