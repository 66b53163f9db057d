"""Publishes agents over A2A, changes their cards and unpublishes them."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.audit import Actor, record
from accounts.models import Agent
from database.notifications import notify
from relay.cards import cards
from relay.cards.topics import ACCESS_TOPIC
from relay.models import CallerKey, Card

FITS_A_PATH = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*")


class DoesNotFit(Exception):
    """An agent on A2A needs an ID of letters, digits and -._~ that does not begin with a dot."""


@transaction.atomic
def publish(
    agent: Agent,
    *,
    by: Actor,
    at: datetime,
    callers: Iterable[CallerKey] | None = None,
    **fields: Any,
) -> Card:
    """Makes an agent callable at `/@handle/agent`, or changes its existing card.

    `fields` are fields of the card; the others stay as they are. `callers` replaces the whole
    allowlist. If the card changes and no new version is given, the version is raised. Raises
    DoesNotFit, and ValidationError for an invalid field.
    """
    if not has_url_safe_id(agent):
        raise DoesNotFit(DoesNotFit.__doc__)
    rows = Card.objects.select_for_update(of=("self",)).select_related("agent__team")
    card, is_new = rows.get_or_create(agent=agent, defaults={"enabled": False, "created_at": at})
    published_body, was_published = cards.body_of(card), card.enabled
    changed = {name for name, value in fields.items() if getattr(card, name) != value}
    for name in changed:
        setattr(card, name, fields[name])
    if not is_new and "version" not in changed and cards.body_of(card) != published_body:
        card.version = _next(card.version)
        changed.add("version")
    if card.is_root and "is_root" in changed:
        _clear_root(by=by, at=at)
    if _set_allowlist(card, callers):
        changed.add("callers")
    if was_published and not changed:
        return card
    if changed & {"access", "callers"}:
        notify(ACCESS_TOPIC)
    card.enabled, card.updated_at = True, at
    card.full_clean(exclude=["agent"])
    card.save(update_fields=[*(changed - {"callers"}), "enabled", "updated_at"])
    _record("card.changed" if was_published else "card.published", card, changed, by=by, at=at)
    return card


@transaction.atomic
def unpublish(card: Card, *, by: Actor, at: datetime) -> None:
    """Makes an agent unreachable over A2A. The agent's tasks and card stay. A second call changes
    nothing."""
    if Card.objects.filter(pk=card.pk, enabled=True).update(enabled=False, updated_at=at):
        notify(ACCESS_TOPIC)
        record("card.unpublished", by=by, of=card, team=card.agent.team_id, at=at)


@transaction.atomic
def allow_caller(key: CallerKey, agent: Agent, *, by: Actor, at: datetime) -> None:
    """Adds a key to the allowlist of the agent's card, if the agent has one."""
    card = Card.objects.select_for_update(of=("self",)).of(agent)
    if card is not None and not card.callers.filter(pk=key.pk).exists():
        card.callers.add(key)
        _record("card.changed", card, {"callers"}, by=by, at=at)


def has_url_safe_id(agent: Agent) -> bool:
    """Returns whether the agent's ID can be part of a URL without being encoded."""
    return FITS_A_PATH.fullmatch(agent.agent_id) is not None


def _next(version: str) -> str:
    """Returns `1.0.1` for `1.0.0`, and adds `.1` to a version that does not end in a number."""
    begin = version.rstrip(string.digits)
    number = version[len(begin) :]
    return f"{begin}{int(number) + 1}" if number else f"{version}.1"


def _clear_root(*, by: Actor, at: datetime) -> None:
    """Removes the current card from the host's root, which has room for only one card."""
    for card in Card.objects.filter(is_root=True).select_related("agent__team"):
        card.is_root = False
        card.save(update_fields=["is_root"])
        _record("card.changed", card, {"is_root"}, by=by, at=at)


def _set_allowlist(card: Card, callers: Iterable[CallerKey] | None) -> bool:
    """Replaces the allowlist; returns whether it changed."""
    if callers is None:
        return False
    keys = set(callers)
    if keys == set(card.callers.all()):
        return False
    card.callers.set(keys)
    return True


def _record(event: str, card: Card, changed: set[str], *, by: Actor, at: datetime) -> None:
    """Records the callers in full, and only the names of the other changed fields."""
    callers = [str(key) for key in card.callers.order_by("created_at", "pk")]
    record(
        event,
        by=by,
        of=card,
        team=card.agent.team_id,
        at=at,
        changed=sorted(changed),
        access=card.access,
        **({"callers": callers} if card.access == Card.Access.ALLOWLIST else {}),
    )
