"""Writes proofs that a receipt is in the log (https://c2sp.org/tlog-proof; docs/receipts.md, The
proof)."""

from __future__ import annotations

import base64
import json
import logging
from dataclasses import dataclass
from typing import Any

from accounts.log import merkle, tree
from accounts.log.checkpoints import checkpoints
from accounts.log.entries import base64url, entry_of_receipt
from accounts.log.tiles import DamagedTile
from accounts.models import LogCheckpoint, LogEntry
from wake.models import CarriedProof, Receipt

log = logging.getLogger(__name__)


class DamagedLog(Exception):
    """A tile of the log is damaged, so there is no proof of this receipt until it is repaired."""


@dataclass(frozen=True, slots=True)
class LogProof:
    """Holds what a proof has besides the receipt: the index and the other members of the log's
    entry, the inclusion proof, each hash in base64, and the signed checkpoint."""

    index: int
    entry: dict[str, Any]
    hashes: list[str]
    note: str


def with_proof(receipt: Receipt, text: str) -> str | None:
    """Returns the file with the receipt and its proof. `text` is the receipt with the disclosures
    to include. Returns None until a checkpoint covers the receipt. Raises DamagedLog."""
    proof = proof_of(receipt)
    if proof is None:
        return None
    extra = json.dumps({"entry": proof.entry, "receipt": text}).encode()
    lines = [
        "c2sp.org/tlog-proof@v1",
        f"extra {_base64(extra)}",
        f"index {proof.index}",
        *proof.hashes,
        "",
    ]
    return "\n".join([*lines, proof.note])


def proof_of(receipt: Receipt) -> LogProof | None:
    """Returns the proof in the log of this server, or the proof that the receipt's team brought
    from another server. Returns None until a checkpoint covers the receipt. Raises DamagedLog."""
    entry = entry_of_receipt(receipt.pk)
    if entry is None:
        return _carried(receipt)
    checkpoint = checkpoints.covering(entry.index)
    if checkpoint is None:
        return None
    facts = {
        "kind": entry.kind,
        "number": entry.number,
        "salt": base64url(bytes(entry.salt)),
        "team": entry.team_id,
    }
    hashes = [_base64(each) for each in _inclusion_proof(entry, checkpoint)]
    return LogProof(entry.index, facts, hashes, checkpoints.cosigned_note(checkpoint))


def _carried(receipt: Receipt) -> LogProof | None:
    row = CarriedProof.objects.filter(pk=receipt.pk).first()
    return LogProof(row.index, row.entry, row.hashes, row.note) if row else None


def _inclusion_proof(entry: LogEntry, checkpoint: LogCheckpoint) -> list[bytes]:
    """Returns the proof, which leads from the entry to the root of the checkpoint. Raises
    DamagedLog."""
    size = checkpoint.size
    try:
        hashes = tree.inclusion_proof(entry.index, size)
    except DamagedTile:
        hashes = []
    root = bytes.fromhex(checkpoint.root)
    leaf = bytes(entry.hash)
    if merkle.verify_inclusion(leaf, index=entry.index, size=size, root=root, proof=hashes):
        return hashes
    log.critical(
        "There is no proof of the receipt in entry %s: a tile of the log is missing or wrong; "
        "docs/operations.md, A damaged tile, says what to do",
        entry.index,
    )
    raise DamagedLog(DamagedLog.__doc__)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
