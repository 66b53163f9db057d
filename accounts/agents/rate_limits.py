"""Sets an agent's own limit, which is lower than the server's."""

from __future__ import annotations

from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.agents import quota
from accounts.audit import Actor, record
from accounts.models import Agent, ApiKey


@transaction.atomic
def limit(agent: Agent, hourly: int | None, *, by: Actor, at: datetime) -> None:
    """Limits each key of the agent to `hourly` deliveries from now on; None stands for the server's
    limit. The same limit again is not recorded. Raises ValidationError."""
    check(hourly)
    # A delivery locks the agent before it spends quota, so until the commit none is spent.
    agent = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
    if agent.hourly_limit == hourly:
        return
    now_us = int(at.timestamp() * 1_000_000)
    for key in agent.keys.filter(quota_us__gt=now_us):
        key.quota_us = quota.carried_over(key, to=hourly, now_us=now_us)
        key.save(update_fields=["quota_us"])
    agent.hourly_limit = hourly
    agent.save(update_fields=["hourly_limit"])
    record("agent.limited", by=by, of=agent, team=agent.team_id, at=at, an_hour=hourly)


def check(hourly: int | None) -> None:
    """Raises ValidationError for a number that would pause the agent, or would lower nothing."""
    if hourly is None:
        return
    if hourly < 1:
        raise ValidationError("Enter at least 1. To stop all deliveries, pause the agent.")
    most = max(quota.given(mode)[0] for mode in ApiKey.Mode.values)
    if hourly >= most:
        raise ValidationError(
            f"This server gives a key {most:,} an hour at most: write a smaller number, or nothing."
        )
