"""Registers each check under the id of its requirement."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from wake_check.run import Check

CHECKS: dict[str, Check] = {}
# These checks look at what the other checks have seen, so they come last.
LAST: dict[str, Check] = {}
Function = TypeVar("Function", bound=Check)


def judges(requirement_id: str) -> Callable[[Function], Function]:
    """Registers a function that returns if the server keeps the requirement. It raises Broken if
    the server breaks it, and NotJudged if that cannot be said."""
    return _register(CHECKS, requirement_id)


def judges_last(requirement_id: str) -> Callable[[Function], Function]:
    return _register(LAST, requirement_id)


def _register(checks: dict[str, Check], requirement_id: str) -> Callable[[Function], Function]:
    def register(check: Function) -> Function:
        if requirement_id in CHECKS | LAST:
            raise ValueError(f"Two checks judge {requirement_id}.")
        checks[requirement_id] = check
        return check

    return register
