"""Holds a level and one or two sentences about a part, which `manage.py preflight` reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """A problem makes the upgrade fail, or servers after it. A warning is for a person to judge."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    part: str
    level: Level
    text: str
