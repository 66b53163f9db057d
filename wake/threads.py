"""Deliveries that belong together: a thread of them, and revisions that take another's place."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from wake.models import Delivery


class UnknownRevision(Exception):
    """There is no delivery of this agent with that id to supersede."""


def supersede(delivery: Delivery, *, earlier_id: UUID, at: datetime) -> None:
    """Makes the unsaved `delivery` the next revision of an earlier one of the same agent and lane,
    which leaves the inbox but can still be opened and answered; raises UnknownRevision.

    Inside the transaction of deliver(), which holds the agent's lock.
    """
    mine = Delivery.objects.of_agent(delivery.agent, delivery.lane)
    earlier = (
        mine.filter(pk=earlier_id, relayed=delivery.relayed)
        .only("pk", "thread", "superseded_at")
        .first()
    )
    if earlier is None:
        raise UnknownRevision(UnknownRevision.__doc__)
    delivery.supersedes = earlier
    delivery.thread = delivery.thread or earlier.thread or str(earlier.pk)
    Delivery.objects.filter(pk=earlier.pk, superseded_at__isnull=True).update(superseded_at=at)
