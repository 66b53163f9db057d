"""Deletes what clients left behind: codes, tokens and registrations that no one uses any more."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from oauth2_provider.models import Application, DeviceGrant, clear_expired

from accounts.audit import SYSTEM
from accounts.models import ApiKey, OAuthGrant
from accounts.oauth import grants

UNUSED_REGISTRATION = timedelta(days=1)
# Until then, a terminal that still asks is told that its code has expired.
KEPT_FOR_THE_TERMINAL = timedelta(hours=1)
BATCH = 1_000


def forget_unused(*, at: datetime) -> None:
    """Deletes expired codes and tokens, grants whose client never came for its token, sign-ins of
    terminals that have expired, and registrations of more than a day ago without a grant that is
    still open. Ends grants whose client can get no token any more, so that they do not count
    towards the limit of their agent."""
    clear_expired()
    grants.end_all(list(grants.cut_off(at)[:BATCH]), by=SYSTEM, at=at)
    ApiKey.objects.filter(grant__family__isnull=True, grant__isnull=False).filter(
        expires_at__lt=at
    ).delete()
    DeviceGrant.objects.filter(expires__lt=at - KEPT_FOR_THE_TERMINAL).delete()
    _unused_registrations(at).delete()


def _unused_registrations(at: datetime) -> QuerySet[Any]:
    in_use = OAuthGrant.objects.open(at).filter(application=OuterRef("pk"))
    source = Application.RegistrationSource
    old = Application.objects.filter(
        ~Exists(in_use),
        registration_source__in=[source.DCR, source.CIMD],
        updated__lt=at - UNUSED_REGISTRATION,
    )
    batch = list(old.values_list("pk", flat=True)[:BATCH])
    registrations: QuerySet[Any] = Application.objects.filter(pk__in=batch)
    return registrations
