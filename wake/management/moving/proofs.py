"""Carries the receipts of a team with what makes them verifiable: the public keys that signed them,
and the proofs that they are in the log of the server that made them (docs/receipts.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from accounts.models import LogEntry
from wake.models import CarriedProof, Receipt, ReceiptKey
from wake.proof.log_proofs import DamagedLog, proof_of

AT_ONCE = 100
PUBLIC = ("kid", "public_key", "created_at", "retired_at", "issuer", "cut_at", "cut_size")

Facts = dict[str, Any]


def keys_of(team_id: int, *, own: str) -> list[Facts]:
    """Returns the public halves of the key pairs that signed receipts of the team. A pair of this
    server has `own` as its issuer."""
    ids = _receipts_of(team_id).values("key")
    keys = ReceiptKey.objects.filter(pk__in=ids).order_by("kid").values(*PUBLIC)
    return [{**key, "issuer": key["issuer"] or own} for key in keys]


def store_keys(keys: Iterable[Facts]) -> None:
    """Stores public keys of other servers. This server does not publish them as its own."""
    ReceiptKey.objects.bulk_create(
        (ReceiptKey(**key, private_key="", is_current=False) for key in keys),
        ignore_conflicts=True,
    )


def read(team_id: int) -> Iterator[list[Facts]]:
    """Yields the proofs of the team's receipts. A receipt without a proof is left out."""
    batch: list[Facts] = []
    for receipt in _receipts_of(team_id).only("pk").iterator(AT_ONCE):
        try:
            proof = proof_of(receipt)
        except DamagedLog:
            continue
        if proof is not None:
            batch.append({"receipt": receipt.pk, **asdict(proof)})
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def store(proofs: Sequence[Facts]) -> None:
    """Stores the proofs of receipts that the log of this server does not have."""
    ids = [UUID(proof["receipt"]) for proof in proofs]
    logged = set(LogEntry.objects.filter(receipt_id__in=ids).values_list("receipt_id", flat=True))
    CarriedProof.objects.bulk_create(
        CarriedProof(
            receipt_id=pk,
            index=proof["index"],
            entry=proof["entry"],
            hashes=proof["hashes"],
            note=proof["note"],
        )
        for pk, proof in zip(ids, proofs, strict=True)
        if pk not in logged
    )


def _receipts_of(team_id: int) -> Any:
    return Receipt.objects.filter(response__delivery__team=team_id).order_by("pk")
