"""Withdraws deliveries that no longer need an answer, because their agent withdrew them, or because
their task was canceled or went on."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction

from accounts.agents import keys
from accounts.audit import SYSTEM, agent_actor, record, record_many
from accounts.models import ApiKey
from wake.models import Delivery, DeliveryQuerySet
from wake.signals import notify_inbox


class AnsweredBefore(Exception):
    """A person has answered this delivery, so it was not withdrawn. Read the answer instead."""


@transaction.atomic
def withdraw(deliveries: DeliveryQuerySet, *, at: datetime) -> list[Delivery]:
    """Takes the deliveries out of the inbox, and returns them. Leaves out deliveries that have
    already left the inbox, and deliveries whose answer was released. A held answer is not sent."""
    pending = deliveries.filter(status=Delivery.Status.PENDING, superseded_at__isnull=True)
    rows = list(pending.select_for_update(of=("self",)).defer("details_json").order_by("pk"))
    for row in rows:
        row.withdrawn_at = row.superseded_at = at
    Delivery.objects.bulk_update(rows, ["withdrawn_at", "superseded_at"])
    record_many("delivery.withdrawn", by=SYSTEM, of=rows, at=at)
    notify_inbox(rows)
    return rows


@transaction.atomic
def withdraw_own(
    key: ApiKey, delivery_id: UUID, *, reason: str = "", address: str = "", at: datetime
) -> Delivery | None:
    """Takes a delivery of the key's agent and mode out of the inbox. Returns None if there is no
    delivery with that id. Only the first request counts: a repeated one changes neither time nor
    reason. The delivery gives up its Idempotency-Key, so that the agent can ask the same again.

    Raises AnsweredBefore even if the answer is still held, because a person's decision counts as
    soon as it is made. Raises KeyEnded.
    """
    keys.check_again(key, at=at)
    mine = Delivery.objects.of_agent(key.agent, key.mode).filter(is_internal=False)
    row = mine.select_for_update(of=("self",)).filter(pk=delivery_id).first()
    if row is None or row.withdrawn_at is not None:
        return row
    if row.answered_at is not None:
        raise AnsweredBefore(AnsweredBefore.__doc__)
    row.withdrawn_at = at
    row.superseded_at = row.superseded_at or at
    row.withdrawn_reason = reason
    row.idempotency_key, row.idempotency_hash = None, ""
    changed = ["withdrawn_at", "superseded_at", "withdrawn_reason"]
    row.save(update_fields=[*changed, "idempotency_key", "idempotency_hash"])
    record(
        "delivery.withdrawn",
        by=agent_actor(key.agent, address),
        of=row,
        team=row.team_id,
        at=at,
        key=key.hint,
    )
    notify_inbox([row])
    return row
