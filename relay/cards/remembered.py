"""Remembers callers and the agents that they call, so that their next message needs no look-up.

What is remembered may have changed since. It is right only together with a statement that asks
whether it is still so (relay/tasks/one_statement.py,
docs/decisions/0059-the-usual-message-remembers-its-caller.md).
"""

from __future__ import annotations

from typing import NamedTuple

from django.http import HttpRequest

from accounts.agents import keys
from database import clock
from relay.cards import callers
from relay.models import CallerKey, Card

SECONDS = 60
MOST = 10_000


class Remembered(NamedTuple):
    """Holds the card and the caller as this process looked them up."""

    card: Card
    caller: CallerKey
    looked_up_at: int


_remembered: dict[tuple[str, str, str], Remembered] = {}


def keep(handle: str, name: str, card: Card, caller: CallerKey) -> None:
    if len(_remembered) >= MOST:
        _remembered.clear()
    _remembered[handle, name, caller.digest] = Remembered(card, caller, clock.ticks())


def find(request: HttpRequest, handle: str, name: str) -> Remembered | None:
    """Returns what was found for this address and this key up to a minute ago."""
    text = callers.bearer_of(request)
    found = _remembered.get((handle, name, keys.digest_of(text))) if text else None
    if found and clock.ticks() - found.looked_up_at < SECONDS * 1_000_000:
        return found
    return None
