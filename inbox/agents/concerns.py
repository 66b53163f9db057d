"""Returns the state and the action of each card on an agent's page."""

from __future__ import annotations

from typing import Any

from inbox.agents.health import Health


def states_of(agent: Any, health: Health) -> dict[str, str]:
    """Returns the state and the action of each card. `agent` comes from
    inbox/agents/overview.py."""
    secrets = agent.secret_count or 0
    aliases = len((agent.alias_lines or "").splitlines())
    return {
        "keys": f"{health.usable_keys or 'None'} active",
        "clients": f"{health.connected_clients or 'None'} connected",
        "limit": f"{agent.hourly_limit} per hour" if agent.hourly_limit else "Default",
        "secret": "Two active" if secrets > 1 else "Active" if secrets else "None",
        "aliases": str(aliases or "None"),
    }


def actions_of(agent: Any) -> dict[str, str]:
    secrets = agent.secret_count or 0
    change_secret = "Retire old secret" if secrets > 1 else "Rotate secret"
    return {
        "limit": "Change rate limit" if agent.hourly_limit else "Set a rate limit",
        "secret": change_secret if secrets else "Create secret",
        "aliases": "Change aliases" if agent.alias_lines else "Add alias",
    }
