"""Stores the provider's configuration and keys in the database, for all processes.

While the provider is briefly away, the last fetched documents are used. A token with an unknown key
makes Wake fetch the keys again, at most once a minute, because made-up tokens could name another
key each time.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from accounts.models import ProviderDocument
from accounts.sign_in.oidc import outgoing
from accounts.sign_in.oidc.problems import BadAnswer, Problem
from accounts.sign_in.oidc.provider import Provider

log = logging.getLogger(__name__)

FRESH_FOR = timedelta(hours=1)
USABLE_FOR = timedelta(days=7)
ASK_EVERY = timedelta(minutes=1)
WELL_KNOWN = "/.well-known/openid-configuration"
LONGEST_KEY = 512
Check = Callable[[dict[str, Any]], None]  # raises BadAnswer if the document is not valid
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


def configuration(provider: Provider, *, at: datetime) -> dict[str, Any]:
    """Returns the provider's metadata (OpenID Connect Discovery 1.0, section 4.3). Raises a
    Problem."""

    def check(metadata: dict[str, Any]) -> None:
        if metadata.get("issuer") != provider.issuer:
            log.error("The provider says that WAKE_OIDC_ISSUER is %r", metadata.get("issuer"))
            raise BadAnswer(BadAnswer.__doc__)
        if not all(outgoing.is_safe(metadata.get(name)) for name in ENDPOINTS):
            log.error("The configuration of the sign-in provider lacks one of %s", ENDPOINTS)
            raise BadAnswer(BadAnswer.__doc__)

    return _kept(provider.issuer.rstrip("/") + WELL_KNOWN, check, fresh_for=FRESH_FOR, at=at)


def keys(provider: Provider, *, at: datetime, newer: bool = False) -> list[dict[str, Any]]:
    """Returns the public keys of the provider as JWKs. With `newer`, asks the provider again,
    because keys may have been added since the last answer. Raises a Problem."""

    def check(document: dict[str, Any]) -> None:
        found = document.get("keys")
        if not isinstance(found, list) or not all(isinstance(key, dict) for key in found):
            log.error("The sign-in provider sent no list of keys")
            raise BadAnswer(BadAnswer.__doc__)

    url = configuration(provider, at=at)["jwks_uri"]
    found = _kept(url, check, fresh_for=ASK_EVERY if newer else FRESH_FOR, at=at)["keys"]
    return list(found)


def _kept(url: str, check: Check, *, fresh_for: timedelta, at: datetime) -> dict[str, Any]:
    """Returns the document. If the stored document is older than `fresh_for`, it is fetched again.
    If fetching fails, the stored document is used for up to a week."""
    key = url if len(url) <= LONGEST_KEY else hashlib.sha256(url.encode()).hexdigest()
    row = ProviderDocument.objects.filter(pk=key).first()
    if row is None or row.fetched_at <= at - USABLE_FOR:
        return _fetched(key, url, check, at=at)
    kept = outgoing.object_of(row.content)
    if row.fetched_at > at - fresh_for or not _may_ask(row, at=at):
        return kept
    try:
        return _fetched(key, url, check, at=at)
    except Problem:
        return kept


def _may_ask(row: ProviderDocument, *, at: datetime) -> bool:
    """Returns whether this process may ask the provider now. Only one process a minute may."""
    due = ProviderDocument.objects.filter(pk=row.pk, asked_at__lte=at - ASK_EVERY)
    return bool(due.update(asked_at=at))


def _fetched(key: str, url: str, check: Check, *, at: datetime) -> dict[str, Any]:
    """Returns the document of the provider, and stores it if it is valid."""
    text = outgoing.get(url)
    found = outgoing.object_of(text)
    check(found)
    values = {"content": text, "fetched_at": at, "asked_at": at}
    ProviderDocument.objects.update_or_create(pk=key, defaults=values)
    return found
