"""Reads what agents send to the small server."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

MAX_DEPTH = 64
REQUIRED = ("agent_id", "provider", "type", "headline", "summary")
TYPES = ("update", "question", "output", "alert")


class Malformed(Exception):
    """The body is no strict JSON object."""


def read_object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body.decode(), object_pairs_hook=_members, parse_constant=_refuse)
        _check(value, 0)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from None
    if not isinstance(value, dict):
        raise Malformed("not an object")
    return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is there twice")
    return dict(pairs)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _check(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is out of range")
    if isinstance(value, str) and ("\0" in value or value != value.encode().decode()):
        raise ValueError("a text cannot be stored")
    children = (
        value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    )
    for child in children:
        _check(child, depth + 1)


def is_text(value: Any, most: int) -> bool:
    if not isinstance(value, str) or "\n" in value:
        return False
    return bool(value.strip(" \u200b\u2060")) and len(value) <= most


def is_integer(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def is_webhook(value: Any) -> bool:
    """The allowlist has this machine only. The receiver of the kit listens without TLS."""
    return isinstance(value, str) and urlsplit(value).hostname == "127.0.0.1"


def _one_of(*values: str) -> Callable[[Any], bool]:
    return lambda value: value in values


RULES: dict[str, Callable[[Any], bool]] = {
    "agent_id": lambda value: is_text(value, 128),
    "provider": lambda value: is_text(value, 128),
    "type": _one_of(*TYPES),
    "headline": lambda value: is_text(value, 120),
    "summary": lambda value: is_text(value, 280),
    "details": lambda value: isinstance(value, dict | str),
    "callback_webhook": is_webhook,
    "timeout_seconds": lambda value: is_integer(value, 60, 604_800),
    "assumption": lambda value: isinstance(value, str) and len(value) <= 2000,
    "on_timeout": _one_of("proceed", "hold", "abort"),
    "thread": lambda value: is_text(value, 128),
    "priority": _one_of("low", "normal", "high"),
    "quorum": lambda value: is_integer(value, 2, 5),
    "irreversible": lambda value: isinstance(value, bool),
    "digest": lambda value: isinstance(value, bool),
    "claim_within_seconds": lambda value: is_integer(value, 60, 604_800),
}


def missing(body: dict[str, Any]) -> list[str]:
    return [name for name in REQUIRED if body.get(name) is None]


def invalid(body: dict[str, Any], rules: dict[str, Callable[[Any], bool]]) -> list[str]:
    """Returns the names of the fields that are there and break their rule."""
    wrong = [
        name for name, rule in rules.items() if body.get(name) is not None and not rule(body[name])
    ]
    if body.get("irreversible") is True and body.get("on_timeout") == "proceed":
        wrong.append("on_timeout")
    return wrong
