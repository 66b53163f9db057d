"""Creates many similar deliveries at once."""

from __future__ import annotations

from copy import copy
from datetime import timedelta
from uuid import uuid4

from wake.models import Delivery


def many_like(delivery: Delivery, count: int) -> list[Delivery]:
    """Creates each delivery a second after the one before."""
    deliveries = []
    for number in range(1, count + 1):
        later, row = timedelta(seconds=number), copy(delivery)
        row.pk = uuid4()
        row.activity_at += later
        row.created_at += later
        deliveries.append(row)
    return Delivery.objects.bulk_create(deliveries)
