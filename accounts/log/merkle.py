"""Computes the hashes and proofs of a Merkle tree (RFC 9162, section 2).

A range `(start, end)` stands for the leaves from `start` up to, but without, `end`. A proof is the
roots of some ranges. This module says which ranges; `accounts/log/tree.py` computes their roots.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

Range = tuple[int, int]


def leaf_hash(entry: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def root(hashes: Sequence[bytes]) -> bytes:
    """Returns the root over these leaf hashes, or over the roots of complete subtrees of one
    size."""
    if not hashes:
        return hashlib.sha256().digest()
    nodes = list(hashes)
    while len(nodes) > 1:
        pairs = [node_hash(nodes[place], nodes[place + 1]) for place in range(0, len(nodes) - 1, 2)]
        nodes = [*pairs, nodes[-1]] if len(nodes) % 2 else pairs
    return nodes[0]


def inclusion_ranges(index: int, size: int) -> list[Range]:
    """Returns the ranges of an inclusion proof, in the order of the proof (section 2.1.3.1)."""
    ranges, start, end = [], 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start = middle
    return ranges[::-1]


def consistency_ranges(old: int, size: int) -> list[Range]:
    """Returns the ranges of the proof that the tree of `size` continues the tree of `old` leaves,
    in the order of the proof (section 2.1.4.1)."""
    if not old:
        return []
    ranges, start, end = [], 0, size
    while end != old:
        middle = start + _split(end - start)
        if old <= middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start = middle
    if start:
        ranges.append((start, end))
    return ranges[::-1]


def complete_subtrees(start: int, end: int) -> list[Range]:
    """Splits a range of the tree into complete subtrees, the largest first."""
    subtrees = []
    while start < end:
        middle = start + (1 << (end - start).bit_length() - 1)
        subtrees.append((start, middle))
        start = middle
    return subtrees


def joined(roots: Sequence[bytes]) -> bytes:
    """Returns the root of a range from the roots of its complete subtrees."""
    *rest, joined_root = roots
    for left in reversed(rest):
        joined_root = node_hash(left, joined_root)
    return joined_root


def verify_inclusion(
    leaf: bytes, *, index: int, size: int, root: bytes, proof: Sequence[bytes]
) -> bool:
    """Returns whether the proof leads from the leaf hash at `index` to the root of the tree of
    `size` leaves (section 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    place, last, reached = index, size - 1, leaf
    for node in proof:
        if last == 0:
            return False
        if place % 2 or place == last:
            reached = node_hash(node, reached)
            while place % 2 == 0 and place:
                place, last = place >> 1, last >> 1
        else:
            reached = node_hash(reached, node)
        place, last = place >> 1, last >> 1
    return last == 0 and reached == root


def verify_consistency(
    *, old: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes]
) -> bool:
    """Returns whether the proof shows that the tree of `size` leaves begins with the `old` leaves
    of the earlier tree (section 2.1.4.2). A tree with no leaves is the beginning of every tree, and
    its proof is empty."""
    if old in {0, size}:
        return not proof and old_root == (root if old else hashlib.sha256().digest())
    if not 0 < old < size or not proof:
        return False
    path = list(proof) if old & (old - 1) else [old_root, *proof]
    place, last = old - 1, size - 1
    while place % 2:
        place, last = place >> 1, last >> 1
    reached_old = reached = path[0]
    for node in path[1:]:
        if last == 0:
            return False
        if place % 2 or place == last:
            reached_old, reached = node_hash(node, reached_old), node_hash(node, reached)
            while place % 2 == 0 and place:
                place, last = place >> 1, last >> 1
        else:
            reached = node_hash(reached, node)
        place, last = place >> 1, last >> 1
    return last == 0 and reached_old == old_root and reached == root


def _split(size: int) -> int:
    """Returns the largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1
