"""Caches rendered details by their content, so that a page does not render them twice.

The cache is in the memory of this process for a few minutes, so that content erased by retention
does not survive elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TypeVar

from django.core.cache import caches

# Increase this number with every change of the renderer's output.
RENDERER_VERSION = 13

Rendered = TypeVar("Rendered")


def cached(
    content: str | bytes,
    *,
    asked_for: str,
    make: Callable[[], Rendered],
    may_keep: Callable[[Rendered], bool] = lambda _: True,
) -> Rendered:
    """Returns the earlier result of `make` for this content, or else calls `make`."""
    source = content.encode() if isinstance(content, str) else content
    digest = hashlib.sha256(source).hexdigest()
    key = f"{RENDERER_VERSION}:{asked_for}:{digest}"
    rendered: Rendered | None = caches["rendered"].get(key)
    if rendered is None:
        rendered = make()
        if may_keep(rendered):
            caches["rendered"].set(key, rendered)
    return rendered
