"""Sets an agent's own hourly limit, which is lower than the server's quota."""

from __future__ import annotations

from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.agents import quota
from accounts.audit import Actor, record
from accounts.models import Agent, ApiKey


@transaction.atomic
def set_limit(agent: Agent, hourly: int | None, *, by: Actor, at: datetime) -> None:
    """Limits each key of the agent to `hourly` deliveries an hour from now on; None means the
    server's quota. Setting the same limit again is not recorded. Raises ValidationError."""
    check(hourly)
    # The lock stops deliveries, which lock the agent before they spend quota. Uploads lock only
    # their key, so the keys are locked below.
    agent = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
    if agent.hourly_limit == hourly:
        return
    now_us = int(at.timestamp() * 1_000_000)
    for key in agent.keys.filter(quota_us__gt=now_us).select_for_update():
        key.quota_us = quota.carried_over(key, to=hourly, now_us=now_us)
        key.save(update_fields=["quota_us"])
    agent.hourly_limit = hourly
    agent.save(update_fields=["hourly_limit"])
    record("agent.limited", by=by, of=agent, team=agent.team_id, at=at, an_hour=hourly)


def check(hourly: int | None) -> None:
    """Raises ValidationError for a limit below 1, and for a limit that is not lower than the
    server's."""
    if hourly is None:
        return
    if hourly < 1:
        raise ValidationError("Enter at least 1. To stop all deliveries, pause the agent.")
    most = max(quota.quota_of(mode)[0] for mode in ApiKey.Mode.values)
    if hourly >= most:
        raise ValidationError(
            f"The server allows a key {most:,} an hour. Enter a smaller number, or leave it empty."
        )
