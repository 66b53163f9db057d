"""Keeps what was rendered, by what it was made from, so that a page is not made twice in a while.

In the memory of this process and for minutes only: what retention erases must not live on
elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TypeVar

from django.core.cache import caches

# Another number for every change of what is made of the same content.
RENDERER_VERSION = 1

Made = TypeVar("Made")


def kept(content: str, *, asked_for: str, make: Callable[[], Made]) -> Made:
    """What `make` returned the last time for this content, else what it returns now."""
    digest = hashlib.sha256(content.encode()).hexdigest()
    key = f"{RENDERER_VERSION}:{asked_for}:{digest}"
    found: Made | None = caches["rendered"].get(key)
    if found is None:
        found = make()
        caches["rendered"].set(key, found)
    return found
