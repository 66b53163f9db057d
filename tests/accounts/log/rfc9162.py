"""Computes roots and proofs as RFC 9162, section 2.1, defines them: by recursion over all entries.
This module verifies nothing, because a verifier must accept exactly the proofs that these
definitions give."""

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
