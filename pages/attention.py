"""Holds what a page says at its top: what needs attention, and where to look after it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that needs attention; `href` leads to the section or page about it."""

    text: str
    href: str
