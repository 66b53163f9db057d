"""Computes roots and proofs of the log from its tiles.

A proof reads at most two tiles of each level, all of them in one query: the tile of the entry, and
the last one.
"""

from __future__ import annotations

from collections.abc import Sequence

from accounts.log import merkle, tiles
from accounts.log.merkle import Range
from accounts.log.tiles import WIDTH, DamagedTile, Place
from accounts.models import LogTree

LEVEL_BITS = 8


def size() -> int:
    """Returns the number of entries."""
    return LogTree.objects.values_list("size", flat=True).first() or 0


def root(size: int) -> bytes:
    """Returns the root over the first `size` entries. Raises DamagedTile if the tree has fewer
    entries."""
    return _roots([(0, size)])[0] if size else merkle.root([])


def inclusion_proof(index: int, size: int) -> list[bytes]:
    """Returns the proof that the first `size` entries contain the entry `index`. Raises ValueError
    if `index` is not below `size`, and DamagedTile if the tree has fewer entries."""
    if not 0 <= index < size:
        raise ValueError(f"A tree of size {size} has no entry {index}.")
    return _roots(merkle.inclusion_ranges(index, size))


def consistency_proof(old: int, size: int) -> list[bytes]:
    """Returns the proof that the first `size` entries begin with the first `old` entries. Raises
    ValueError if `old` is larger than `size`, and DamagedTile if the tree has fewer entries."""
    if not 0 <= old <= size:
        raise ValueError(f"A tree of size {size} does not begin with one of size {old}.")
    return _roots(merkle.consistency_ranges(old, size))


def _roots(ranges: Sequence[Range]) -> list[bytes]:
    subtrees = [merkle.complete_subtrees(*each) for each in ranges]
    stored = tiles.read({_place(subtree) for each in subtrees for subtree in each})
    return [merkle.joined([_root(subtree, stored) for subtree in each]) for each in subtrees]


def _root(subtree: Range, stored: dict[Place, list[bytes]]) -> bytes:
    scale = LEVEL_BITS * _level(subtree)
    start, end = (leaf >> scale for leaf in subtree)
    offset = start % WIDTH
    hashes = stored[_place(subtree)][offset : offset + end - start]
    if len(hashes) < end - start:
        raise DamagedTile(DamagedTile.__doc__)
    return merkle.root(hashes)


def _place(subtree: Range) -> Place:
    """Returns the tile whose hashes make the root of a complete subtree."""
    level = _level(subtree)
    return level, subtree[0] >> LEVEL_BITS * (level + 1)


def _level(subtree: Range) -> int:
    start, end = subtree
    return ((end - start).bit_length() - 1) // LEVEL_BITS
