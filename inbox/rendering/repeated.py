"""Recognises a proposal that only repeats what blocks show under the same names."""

from __future__ import annotations

from collections import Counter
from typing import Any

# Names of values that a code block shows without a name. If a proposal had two of these values,
# they could be swapped.
OF_CODE = frozenset({"command", "content", "code", "script"})
SIDES = ("old_string", "new_string"), ("before", "after")


def repeats(proposal: Any, blocks: list[Any]) -> bool:
    """Returns whether blocks show each member of the proposal. A block may show the member as an
    item of that name, as the only code, or as the two sides of the only difference."""
    if not isinstance(proposal, dict) or not proposal or not all(map(str.strip, proposal)):
        return False
    items = _items(blocks)
    rest = {
        name: value
        for name, value in proposal.items()
        if name not in items or not _is_same(items[name], value)
    }
    return not rest or _is_the_code(rest, blocks) or _are_the_sides(rest, blocks)


def _items(blocks: list[Any]) -> dict[str, Any]:
    """Returns the items of all lists of names and values whose names appear once."""
    pairs = [pair for block in _of_kind("kv", blocks) for pair in _items_of(block)]
    times = Counter(name for name, _ in pairs)
    return {name: value for name, value in pairs if times[name] == 1}


def _items_of(block: dict[str, Any]) -> list[tuple[str, Any]]:
    items = block.get("items")
    return list(items.items()) if isinstance(items, dict) else []


def _is_the_code(rest: dict[str, Any], blocks: list[Any]) -> bool:
    codes = _of_kind("code", blocks)
    if len(rest) != 1 or len(codes) != 1:
        return False
    [(name, value)] = rest.items()
    return name in OF_CODE and isinstance(value, str) and codes[0].get("text") == value


def _are_the_sides(rest: dict[str, Any], blocks: list[Any]) -> bool:
    diffs = _of_kind("diff", blocks)
    if len(diffs) != 1 or "text" in diffs[0]:
        return False
    shown = [diffs[0].get("before"), diffs[0].get("after")]
    return any(
        rest.keys() == set(names) and _is_same([rest[name] for name in names], shown)
        for names in SIDES
    )


def _of_kind(kind: str, blocks: list[Any]) -> list[dict[str, Any]]:
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]


def _is_same(one: Any, other: Any) -> bool:
    """Compares as JSON does: true is not 1. Members in another order are not a repetition."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_is_same(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return bool(one == other)
