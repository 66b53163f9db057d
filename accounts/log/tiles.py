"""Stores the hashes of the tree in tiles (C2SP tlog-tiles).

A tile of level 0 has up to 256 leaf hashes. A hash of a tile of level n + 1 is the root of a
complete tile of level n. So the hashes of a tile of level n are roots of 256**n leaves each.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from operator import or_

from django.db.models import Q

from accounts.log import merkle
from accounts.models import LogTile

WIDTH = 256
HASH_BYTES = 32

# The level and the index of a tile.
Place = tuple[int, int]


class DamagedTile(Exception):
    """A tile of the log is missing or too short."""


def read(places: Collection[Place]) -> dict[Place, list[bytes]]:
    """Returns the hashes of these tiles, in one query. A missing tile has no hashes."""
    if not places:
        return {}
    indexes: dict[int, list[int]] = {}
    for level, index in places:
        indexes.setdefault(level, []).append(index)
    is_one_of_them = reduce(or_, (Q(level=each, index__in=indexes[each]) for each in indexes))
    hashes: dict[Place, list[bytes]] = {place: [] for place in places}
    tiles = LogTile.objects.filter(is_one_of_them).values_list("level", "index", "hashes")
    for level, index, stored in tiles:
        hashes[level, index] = split(bytes(stored))
    return hashes


def append(size: int, hashes: Sequence[bytes]) -> None:
    """Appends leaf hashes to the tiles of a tree of `size`. Raises DamagedTile."""
    begun = read(_last_places(size))
    changed = []
    level = 0
    while hashes:
        first, width = divmod(size, WIDTH)
        start = begun.get((level, first), [])[:width]
        if len(start) < width:
            raise DamagedTile(DamagedTile.__doc__)
        tiles = _chunks([*start, *hashes])
        changed += [
            LogTile(level=level, index=first + number, hashes=b"".join(tile))
            for number, tile in enumerate(tiles)
        ]
        hashes = [merkle.root(tile) for tile in tiles if len(tile) == WIDTH]
        level, size = level + 1, first
    LogTile.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["level", "index"],
        update_fields=["hashes"],
    )


def split(hashes: bytes) -> list[bytes]:
    return [hashes[place : place + HASH_BYTES] for place in range(0, len(hashes), HASH_BYTES)]


def _last_places(size: int) -> list[Place]:
    """Returns the tiles that a tree of `size` has begun and not filled."""
    places = []
    level = 0
    while size:
        if size % WIDTH:
            places.append((level, size // WIDTH))
        level, size = level + 1, size // WIDTH
    return places


def _chunks(hashes: list[bytes]) -> list[list[bytes]]:
    return [hashes[place : place + WIDTH] for place in range(0, len(hashes), WIDTH)]
