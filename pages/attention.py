"""Holds the notes at the top of a page: problems that need attention, and where to solve them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """Describes one problem that needs attention; `href` leads to the section or page about it."""

    text: str
    href: str
    is_risk: bool = False  # True shows the note before the others
