"""Roots and proofs from tiles are those of RFC 9162."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.log import merkle, tiles, tree
from accounts.models import LogTile
from tests.accounts.log import rfc9162

pytestmark = pytest.mark.django_db


def _entries(count: int) -> list[bytes]:
    return [b"entry %d" % number for number in range(count)]


def _append(entries: Sequence[bytes], *, size: int = 0) -> None:
    tiles.append(size, [merkle.leaf_hash(entry) for entry in entries])


def _check_inclusion(index: int, entries: Sequence[bytes]) -> None:
    size = len(entries)
    proof = tree.inclusion_proof(index, size)
    assert proof == rfc9162.path(index, entries)
    leaf, root = merkle.leaf_hash(entries[index]), rfc9162.mth(entries)
    assert merkle.verify_inclusion(leaf, index=index, size=size, root=root, proof=proof)


def _check_consistency(old: int, entries: Sequence[bytes]) -> None:
    size = len(entries)
    proof = tree.consistency_proof(old, size)
    assert proof == (rfc9162.proof(old, entries) if old else [])
    old_root, root = rfc9162.mth(entries[:old]), rfc9162.mth(entries)
    other = merkle.leaf_hash(b"another")
    for first, is_right in ((old_root, True), (other, False)):
        assert is_right is merkle.verify_consistency(
            old=old, old_root=first, size=size, root=root, proof=proof
        )


def test_every_proof_of_small_trees(db: None) -> None:
    entries = _entries(70)
    for size in range(70):
        assert tree.root(size) == rfc9162.mth(entries[:size])
        for index in range(size):
            _check_inclusion(index, entries[:size])
        for old in range(size + 1):
            _check_consistency(old, entries[:size])
        _append(entries[size : size + 1], size=size)


@pytest.mark.parametrize("size", [255, 256, 257, 511, 512, 513, 1000])
def test_proofs_at_the_ends_of_tiles(size: int) -> None:
    entries = _entries(size)
    _append(entries)

    assert tree.root(size) == rfc9162.mth(entries)
    for index in {0, 1, 254, 255, 256, 257, size - 2, size - 1} & set(range(size)):
        _check_inclusion(index, entries)
    for old in {0, 1, 2, 128, 255, 256, 257, 512, size - 1, size} & set(range(size + 1)):
        _check_consistency(old, entries)


@pytest.mark.slow
@pytest.mark.parametrize("size", [65_535, 65_536, 65_537])
def test_proofs_of_a_tree_of_three_levels(size: int) -> None:
    entries = _entries(size)
    _append(entries[:60_001])
    _append(entries[60_001:], size=60_001)

    assert tree.root(size) == rfc9162.mth(entries)
    for index in (0, 40_000, size - 1):
        _check_inclusion(index, entries)
    for old in (256, 40_000, 65_535):
        _check_consistency(old, entries)


def test_the_way_of_appending_makes_no_difference() -> None:
    entries, chance = _entries(3_000), random.Random(5)  # noqa: S311 - nothing here is a secret
    size = 0
    while size < len(entries):
        some = entries[size : size + chance.randint(1, 700)]
        _append(some, size=size)
        size += len(some)
        assert tree.root(size) == rfc9162.mth(entries[:size])

    stored = {(tile.level, tile.index): bytes(tile.hashes) for tile in LogTile.objects.all()}
    LogTile.objects.all().delete()
    _append(entries)
    assert stored == {
        (tile.level, tile.index): bytes(tile.hashes) for tile in LogTile.objects.all()
    }


def test_tiles_have_the_hashes_of_their_level() -> None:
    entries = _entries(600)
    _append(entries)

    leaves = [merkle.leaf_hash(entry) for entry in entries]
    assert {
        (tile.level, tile.index): tiles.split(bytes(tile.hashes)) for tile in LogTile.objects.all()
    } == {
        (0, 0): leaves[:256],
        (0, 1): leaves[256:512],
        (0, 2): leaves[512:],
        (1, 0): [rfc9162.mth(entries[:256]), rfc9162.mth(entries[256:512])],
    }


def test_a_proof_is_one_query_for_few_tiles() -> None:
    _append(_entries(1_000))

    with CaptureQueriesContext(connection) as queries:
        tree.inclusion_proof(300, 1_000)
    assert len(queries) == 1
    with CaptureQueriesContext(connection) as queries:
        tree.consistency_proof(300, 1_000)
    assert len(queries) == 1


def test_many_tiles_are_read_in_one_query() -> None:
    """A team's entries may be in as many tiles as there are entries. SQLite refuses a condition
    with a thousand parts."""
    _append(_entries(300))

    with CaptureQueriesContext(connection) as queries:
        stored = tiles.read([(0, index) for index in range(3_000)])

    assert len(queries) == 1
    assert [len(hashes) for hashes in stored.values()] == [256, 44, *[0] * 2_998]


def test_a_proof_for_an_earlier_size_stays_the_same() -> None:
    entries = _entries(900)
    _append(entries[:300])
    earlier = tree.inclusion_proof(7, 300)
    _append(entries[300:], size=300)

    assert tree.inclusion_proof(7, 300) == earlier
    assert tree.root(300) == rfc9162.mth(entries[:300])


@pytest.mark.parametrize(("index", "size"), [(-1, 5), (5, 5), (0, 0)])
def test_an_entry_outside_the_tree_has_no_proof(index: int, size: int) -> None:
    _append(_entries(5))

    with pytest.raises(ValueError, match="has no entry"):
        tree.inclusion_proof(index, size)
    with pytest.raises(ValueError, match="does not begin"):
        tree.consistency_proof(size + 1, size)


def test_a_missing_tile_is_an_error() -> None:
    _append(_entries(300))

    for ask in (
        lambda: tree.root(301),
        lambda: tree.inclusion_proof(3, 301),
        lambda: tree.consistency_proof(3, 301),
        lambda: _append(_entries(1), size=301),
    ):
        with pytest.raises(tiles.DamagedTile):
            ask()
