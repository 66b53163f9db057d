"""Roots, proofs and their verification agree with the definitions of RFC 9162 and with published
examples."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from accounts.log import merkle
from tests.accounts.log import rfc9162

LARGEST = 17
ENTRIES = [b"entry %d" % number for number in range(LARGEST)]
STRANGER = hashlib.sha256(b"stranger").digest()

# The tree that Certificate Transparency and its successors test with: the entries, and the roots of
# all complete subtrees by level and place. Source: github.com/transparency-dev/merkle,
# testonly/constants.go.
PUBLISHED = [
    bytes.fromhex(entry)
    for entry in (
        *("", "00", "10", "2021", "3031", "40414243"),
        *("5051525354555657", "606162636465666768696a6b6c6d6e6f"),
    )
]
NODES = [
    [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "0298d122906dcfc10892cb53a73992fc5b9f493ea4c9badb27b791b4127a7fe7",
        "07506a85fd9dd2f120eb694f86011e5bb4662e5c415a62917033d4a9624487e7",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "4271a26be0d8a84f0bd54c8c302e7cb3a3b5d1fa6780a40bcce2873477dab658",
        "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f",
        "46f6ffadd3d06a09ff3c5860d2755c8b9819db7df44251788c7d8e3180de8eb1",
    ],
    [
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
    ],
    [
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
    ["5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"],
]
# The roots over the first entries, except the roots in NODES.
ROOTS = {
    0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    5: "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    6: "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    7: "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
}


def root_of(entries: Sequence[bytes]) -> bytes:
    return merkle.root([merkle.leaf_hash(entry) for entry in entries])


def hashes(ranges: Sequence[merkle.Range], entries: Sequence[bytes]) -> list[bytes]:
    return [root_of(entries[start:end]) for start, end in ranges]


def changed(proof: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Yields proofs that differ from this one in one hash."""
    yield [*proof, STRANGER]
    yield [STRANGER, *proof]
    for place in range(len(proof)):
        yield [*proof[:place], STRANGER, *proof[place + 1 :]]
        yield [*proof[:place], *proof[place + 1 :]]
        yield [*proof[:place], proof[place], *proof[place:]]


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_the_published_subtrees(level: int) -> None:
    width = 2**level
    parts = [PUBLISHED[start : start + width] for start in range(0, len(PUBLISHED), width)]

    assert [root_of(part).hex() for part in parts] == NODES[level]
    assert [rfc9162.mth(part).hex() for part in parts] == NODES[level]


@pytest.mark.parametrize(("size", "root"), ROOTS.items())
def test_the_published_roots(size: int, root: str) -> None:
    assert root_of(PUBLISHED[:size]).hex() == root
    assert rfc9162.mth(PUBLISHED[:size]).hex() == root


@pytest.mark.parametrize(
    ("index", "size", "nodes"),
    [
        (0, 8, [(0, 1), (1, 1), (2, 1)]),
        (5, 8, [(0, 4), (1, 3), (2, 0)]),
        (2, 3, [(1, 0)]),
        (1, 5, [(0, 0), (1, 1), (0, 4)]),
    ],
)
def test_inclusion_proofs_of_the_published_tree(
    index: int, size: int, nodes: list[tuple[int, int]]
) -> None:
    entries, leaf = PUBLISHED[:size], bytes.fromhex(NODES[0][index])
    proof = [bytes.fromhex(NODES[level][place]) for level, place in nodes]

    assert hashes(merkle.inclusion_ranges(index, size), entries) == proof
    assert rfc9162.path(index, entries) == proof
    root = rfc9162.mth(entries)
    assert merkle.verify_inclusion(leaf, index=index, size=size, root=root, proof=proof)


@pytest.mark.parametrize("size", range(1, LARGEST))
def test_exactly_the_inclusion_proofs_of_the_definition_are_accepted(size: int) -> None:
    entries = ENTRIES[:size]
    root = rfc9162.mth(entries)
    for index, entry in enumerate(entries):
        proof, leaf = rfc9162.path(index, entries), rfc9162.mth([entry])
        right: dict[str, Any] = {"index": index, "size": size, "root": root, "proof": proof}

        assert hashes(merkle.inclusion_ranges(index, size), entries) == proof
        assert merkle.verify_inclusion(leaf, **right)
        assert not merkle.verify_inclusion(STRANGER, **right)
        assert not merkle.verify_inclusion(leaf, **{**right, "root": STRANGER})
        for other in {-1, *range(LARGEST + 1)} - {index}:
            assert not merkle.verify_inclusion(leaf, **{**right, "index": other})
        for wrong in changed(proof):
            assert not merkle.verify_inclusion(leaf, **{**right, "proof": wrong})


@pytest.mark.parametrize("size", range(1, LARGEST))
def test_exactly_the_consistency_proofs_of_the_definition_are_accepted(size: int) -> None:
    entries = ENTRIES[:size]
    root = rfc9162.mth(entries)
    for old in range(1, size + 1):
        proof, old_root = rfc9162.proof(old, entries), rfc9162.mth(entries[:old])
        right: dict[str, Any] = {"old": old, "old_root": old_root, "size": size, "root": root}

        assert hashes(merkle.consistency_ranges(old, size), entries) == proof
        assert merkle.verify_consistency(**right, proof=proof)
        assert not merkle.verify_consistency(**{**right, "old_root": STRANGER}, proof=proof)
        assert not merkle.verify_consistency(**{**right, "root": STRANGER}, proof=proof)
        for wrong in changed(proof):
            assert not merkle.verify_consistency(**right, proof=wrong)
    assert not merkle.verify_consistency(
        old=size + 1, old_root=root, size=size, root=root, proof=[]
    )


def test_every_tree_continues_the_empty_tree() -> None:
    right: dict[str, Any] = {"old": 0, "old_root": root_of([]), "size": 5, "root": STRANGER}

    assert merkle.consistency_ranges(0, 5) == []
    assert merkle.verify_consistency(**right, proof=[])
    assert not merkle.verify_consistency(**right, proof=[STRANGER])
    assert not merkle.verify_consistency(**{**right, "old_root": STRANGER}, proof=[])
