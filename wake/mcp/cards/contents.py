"""Adds to a result what the card shows and the model does not need."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import Http404

from pages.characters.invisible import reveal
from wake import wire
from wake.models import Delivery

NAME = "wake/card"


def of_delivery(delivery_id: UUID, *, at: datetime) -> dict[str, Any]:
    """Returns the `_meta` of a result about this delivery. The caller has checked that the delivery
    is the agent's. `as_of` is the time of the result, because a client may show an old one again.
    """
    row = Delivery.objects.filter(pk=delivery_id)
    shown = row.values_list("headline", "assumption", "on_timeout").first()
    if shown is None:
        raise Http404
    headline, assumption, on_timeout = shown
    return {
        NAME: {
            "headline": reveal(headline),
            "assumption": reveal(assumption),
            "on_timeout": on_timeout,
            "url": f"{settings.WAKE_ORIGIN}/deliveries/{delivery_id}/",
            "as_of": wire.instant(at),
        }
    }
