"""Finds the parts of an agent that need attention: keys, callbacks, limits, floods, connectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from accounts.oauth.pages.listing import GrantLine
from inbox.agents.credentials.keys import SOON, KeyLine
from inbox.statistics.figures import Figures
from pages.attention import Note
from pages.times import midnight, when


@dataclass(frozen=True, slots=True)
class Health:
    """Holds the facts about an agent. `last_seen` is the time at which a key or a connected client
    of the agent was last used. `limited_at` is the last time today at which one of them exceeded
    its rate limit."""

    last_seen: datetime | None
    limited_at: datetime | None
    usable_keys: int
    connected_clients: int
    notes: list[Note]


def health_of(
    agent: Any,
    keys: Sequence[KeyLine],
    clients: Sequence[GrantLine],
    figures: Figures,
    *,
    at: datetime,
) -> Health:
    """Returns the agent's health. `agent` comes from inbox/agents/overview.py. Makes no queries."""
    own_keys = [line.key for line in keys] + [line.grant.key for line in clients]
    used = [key.last_used_at for key in own_keys if key.last_used_at]
    limited = [key.slowed_at for key in own_keys if key.slowed_at]
    limited_at = max(limited, default=None)
    is_today = limited_at is not None and limited_at >= midnight(at)
    health = Health(
        last_seen=max(used, default=None),
        limited_at=limited_at if is_today else None,
        usable_keys=sum(line.allowance is not None for line in keys),
        connected_clients=sum(line.is_connected for line in clients),
        notes=[],
    )
    if agent.archived_at is None:
        health.notes.extend(_notes(agent, health, keys, clients, figures, at))
    return health


def _notes(
    agent: Any,
    health: Health,
    keys: Sequence[KeyLine],
    clients: Sequence[GrantLine],
    figures: Figures,
    at: datetime,
) -> Iterator[Note]:
    if agent.paused_at is not None:
        yield Note(
            f"Paused {when(agent.paused_at, now=at)}. New deliveries are rejected.", "#pause"
        )
    if not health.usable_keys and not health.connected_clients:
        yield Note("No active API key or connected client, so it can't deliver.", "#keys")
    for line in keys:
        ends = line.key.expires_at
        if line.allowance is not None and ends is not None and ends - at <= SOON:
            yield Note(f"Key {line.key.hint} expires {when(ends, now=at)}.", "#keys")
    for each in clients:
        over = each.grant.ends_at
        if each.is_connected and over is not None and over - at <= SOON:
            name = f"{each.grant.client_name} must be connected again"
            yield Note(f"{name} {when(over, now=at)}.", "#clients")
    if agent.failing:
        callbacks = f"{reverse('callbacks')}?state=waiting&agent={agent.pk}"
        are = "callback is" if agent.failing == 1 else "callbacks are"
        yield Note(
            f"{agent.failing} {are} failing. The agent can still fetch the answers.", callbacks
        )
    if health.limited_at is not None:
        reached = f"Reached its rate limit {when(health.limited_at, now=at)}."
        yield Note(f"{reached} It may be stuck in a loop.", "#limit")
    elif figures.is_flood:
        today = figures.days[-1].delivered
        words = f"Delivered {today} times today, far more than on any day before."
        yield Note(f"{words} It may be stuck in a loop.", "#pause")
    if agent.secret_count and agent.secret_count > 1:
        yield Note("Two signing secrets are active. Retire the older one.", "#secret")
