"""Lowers how much an agent may deliver in an hour, and gives that back."""

from __future__ import annotations

from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts import quota
from accounts.audit import Actor, record
from accounts.models import Agent, ApiKey


@transaction.atomic
def limit(agent: Agent, hourly: int | None, *, by: Actor, at: datetime) -> None:
    """`hourly` deliveries from each of its keys, for the requests that come from now on; None is
    what the server gives. What is so already is no event. Raises ValidationError."""
    check(hourly)
    # A delivery locks the agent before it spends: until the commit nobody does.
    found = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
    if found.hourly_limit == hourly:
        return
    now_us = int(at.timestamp() * 1_000_000)
    for key in found.keys.filter(quota_us__gt=now_us):
        key.quota_us = quota.carried_over(key, to=hourly, now_us=now_us)
        key.save(update_fields=["quota_us"])
    found.hourly_limit = hourly
    found.save(update_fields=["hourly_limit"])
    record("agent.limited", by=by, of=found, team=found.team_id, at=at, an_hour=hourly)


def check(hourly: int | None) -> None:
    """Raises ValidationError for a number that would pause it, and for one that lowers nothing."""
    if hourly is None:
        return
    if hourly < 1:
        raise ValidationError("At least 1 an hour. To stop its deliveries, pause it.")
    most = max(quota.given(lane)[0] for lane in ApiKey.Lane.values)
    if hourly >= most:
        raise ValidationError(
            f"This server gives a key {most:,} an hour at most: write a smaller number, or nothing."
        )
