"""Computes roots and proofs as RFC 9162, section 2.1, defines them: by recursion over all
entries."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def mth(entries: Sequence[bytes]) -> bytes:
    """Returns MTH(D_n) of section 2.1.1."""
    if not entries:
        return hashlib.sha256().digest()
    if len(entries) == 1:
        return hashlib.sha256(b"\x00" + entries[0]).digest()
    k = _k(len(entries))
    return hashlib.sha256(b"\x01" + mth(entries[:k]) + mth(entries[k:])).digest()


def path(m: int, entries: Sequence[bytes]) -> list[bytes]:
    """Returns PATH(m, D_n) of section 2.1.3.1."""
    if len(entries) == 1:
        return []
    k = _k(len(entries))
    if m < k:
        return [*path(m, entries[:k]), mth(entries[k:])]
    return [*path(m - k, entries[k:]), mth(entries[:k])]


def proof(m: int, entries: Sequence[bytes]) -> list[bytes]:
    """Returns PROOF(m, D_n) of section 2.1.4.1."""
    return _subproof(m, entries, is_complete=True)


def _subproof(m: int, entries: Sequence[bytes], *, is_complete: bool) -> list[bytes]:
    if m == len(entries):
        return [] if is_complete else [mth(entries)]
    k = _k(len(entries))
    if m <= k:
        return [*_subproof(m, entries[:k], is_complete=is_complete), mth(entries[k:])]
    return [*_subproof(m - k, entries[k:], is_complete=False), mth(entries[:k])]


def _k(n: int) -> int:
    """Returns the largest power of two below n."""
    k = 1
    while 2 * k < n:
        k *= 2
    return k


def verify_inclusion(
    leaf: bytes, *, index: int, size: int, root: bytes, proof: Sequence[bytes]
) -> bool:
    """Returns whether the proof shows that the tree with this size and root has the leaf hash at
    `index` (section 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    place, last, reached = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if place % 2 or place == last:
            reached = _node(sibling, reached)
            while place % 2 == 0 and place:
                place, last = place >> 1, last >> 1
        else:
            reached = _node(reached, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and reached == root


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()
