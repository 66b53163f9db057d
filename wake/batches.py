"""Stores a batch of deliveries in one transaction: all of them, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from accounts.agents import keys, quota
from accounts.models import ApiKey
from database import outages
from database.clock import microseconds
from database.idempotency import REPLAY_WINDOW, Idempotency
from wake.deliveries import Delivered, DeliveryFields, Sender, deliver_as, lock
from wake.models import Delivery


@dataclass(frozen=True, slots=True)
class Unsent:
    """Holds a delivery of a batch that is not stored yet."""

    fields: DeliveryFields
    idempotency: Idempotency | None


class BatchTooLarge(Exception):
    """A batch that is stored whole has more new deliveries than the key may deliver at once."""

    def __init__(self, new: int, burst: int) -> None:
        super().__init__(BatchTooLarge.__doc__)
        self.new, self.burst = new, burst


class NotTogether(Exception):
    """One delivery of a batch was refused, so none was stored."""

    def __init__(self, place: int, reason: Exception) -> None:
        super().__init__(NotTogether.__doc__)
        self.place, self.reason = place, reason


def deliver_together(
    deliveries: Sequence[Unsent],
    *,
    key: ApiKey,
    address: str = "",
    traceparent: str = "",
    at: datetime,
) -> list[Delivered]:
    """Stores all deliveries in one transaction, each new one for one unit of quota. Raises
    NotTogether (with the place and the exception of the refused delivery), BatchTooLarge or
    KeyEnded. In these cases nothing was stored or spent."""
    key = keys.look_up_again(key, at=at)
    sender = Sender(key.agent, key, address, traceparent, is_locked=True)
    delivered: list[Delivered] = []
    try:
        with transaction.atomic():
            # With the agent's lock, each delivery sees what earlier requests have stored with the
            # same Idempotency-Key.
            lock(key.agent)
            _lock_superseded(deliveries, key=key)
            for place, unsent in enumerate(deliveries):
                delivered.append(_one_of_all(place, unsent, sender, at=at))
    except NotTogether as refusal:
        reason = refusal.reason
        if isinstance(reason, quota.QuotaSpent):
            # The rollback has returned the tokens. The retry has to wait until all new deliveries
            # fit.
            new = _number_of_new(deliveries, key=key, at=at)
            if new > reason.allowance.limit:
                raise BatchTooLarge(new, reason.allowance.limit) from None
            quota.record_refusal(key, address=address, at=at)
            reason = quota.refusal(key, now_us=microseconds(at), tokens=new)
        if isinstance(reason, quota.KeyEnded) or outages.will_pass(reason):
            raise reason from None
        raise NotTogether(refusal.place, reason) from reason
    return delivered


def _lock_superseded(deliveries: Sequence[Unsent], *, key: ApiKey) -> None:
    """Locks the deliveries that the batch replaces, by primary key: a claim locks several versions
    in this order, too (wake/claims.py)."""
    ids = {pk for each in deliveries if (pk := each.fields.get("supersedes"))}
    if len(ids) > 1:
        mine = Delivery.objects.of_agent(key.agent, key.mode).filter(pk__in=ids)
        list(mine.order_by("pk").select_for_update(of=("self",)).values_list("pk"))


def _number_of_new(deliveries: Sequence[Unsent], *, key: ApiKey, at: datetime) -> int:
    """Returns how many of the deliveries are new: they repeat neither a stored delivery nor another
    delivery of the batch."""
    names = {each.idempotency.key for each in deliveries if each.idempotency}
    stored = Delivery.objects.of_agent(key.agent, key.mode).filter(
        idempotency_key__in=names, created_at__gt=at - REPLAY_WINDOW
    )
    without_key = sum(each.idempotency is None for each in deliveries)
    return without_key + len(names) - (stored.count() if names else 0)


def _one_of_all(place: int, unsent: Unsent, sender: Sender, *, at: datetime) -> Delivered:
    try:
        return deliver_as(sender, unsent.fields, idempotency=unsent.idempotency, at=at)
    except Exception as reason:
        raise NotTogether(place, reason) from reason
