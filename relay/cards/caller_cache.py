"""Caches callers and the agents that they call, so that their next message needs no look-up.

An entry may be out of date, so the statement that uses the entry checks it again
(relay/tasks/storing.py, docs/decisions/0059-the-usual-message-remembers-its-caller.md).
"""

from __future__ import annotations

from typing import NamedTuple

from django.http import HttpRequest

from accounts.access.key_texts import digest_of
from database import clock
from relay.cards import callers
from relay.models import CallerKey, Card

SECONDS = 60
MAX_ENTRIES = 10_000


class CachedCaller(NamedTuple):
    """Holds the card and the caller as this process looked them up."""

    card: Card
    caller: CallerKey
    looked_up_at: int


_entries: dict[tuple[str, str, str], CachedCaller] = {}


def store(handle: str, name: str, card: Card, caller: CallerKey) -> None:
    if len(_entries) >= MAX_ENTRIES:
        _entries.clear()
    _entries[handle, name, caller.digest] = CachedCaller(card, caller, clock.ticks())


def lookup(request: HttpRequest, handle: str, name: str) -> CachedCaller | None:
    """Returns the entry for this address and the key of the request, unless it is older than a
    minute."""
    key_text = callers.bearer_of(request)
    entry = _entries.get((handle, name, digest_of(key_text))) if key_text else None
    if entry and clock.ticks() - entry.looked_up_at < SECONDS * 1_000_000:
        return entry
    return None
