"""Writes proofs that a receipt is in the log (https://c2sp.org/tlog-proof; docs/receipts.md, The
proof)."""

from __future__ import annotations

import base64
import json
import logging

from accounts.log import merkle, tree
from accounts.log.checkpoints import checkpoints
from accounts.log.entries import base64url, entry_of_receipt
from accounts.log.tiles import DamagedTile
from accounts.models import LogCheckpoint, LogEntry
from wake.models import Receipt

log = logging.getLogger(__name__)


class DamagedLog(Exception):
    """A tile of the log is damaged, so there is no proof of this receipt until it is repaired."""


def with_proof(receipt: Receipt, text: str) -> str | None:
    """Returns the file with the receipt and its proof. `text` is the receipt with the disclosures
    to include. Returns None until a checkpoint covers the receipt. Raises DamagedLog."""
    entry = entry_of_receipt(receipt.pk)
    checkpoint = checkpoints.covering(entry.index) if entry else None
    if entry is None or checkpoint is None:
        return None
    facts = {
        "kind": entry.kind,
        "number": entry.number,
        "salt": base64url(bytes(entry.salt)),
        "team": entry.team_id,
    }
    extra = json.dumps({"entry": facts, "receipt": text}).encode()
    hashes = _inclusion_proof(entry, checkpoint)
    lines = [
        "c2sp.org/tlog-proof@v1",
        f"extra {_base64(extra)}",
        f"index {entry.index}",
        *map(_base64, hashes),
        "",
    ]
    return "\n".join([*lines, checkpoints.cosigned_note(checkpoint)])


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
