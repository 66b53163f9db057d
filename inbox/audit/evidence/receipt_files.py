"""Returns the receipt of a delivery, with the proof that it is in the log, for an evidence
export."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from database.encryption import Unreadable
from inbox.audit.evidence import missing
from inbox.audit.evidence.missing import MissingParts
from wake.proof import log_proofs, receipts

# The values of `proof` in a record. A receipt that was made for this export has no proof yet, and
# nothing of it is missing: a checkpoint of the next hour covers it.
INCLUDED, WAITING = "included", "waiting"
DAMAGED_LOG = (
    "A part of the server's log was damaged when the export was made. The person who runs the "
    "server can repair it, and a later export then has the proof."
)
NOT_SENT = "The answer could still be taken back when the export was made, so it has no receipt."


class ReceiptFiles(NamedTuple):
    """Has the contents of the files by name; INCLUDED, WAITING, or None if there is no proof; and
    the size of the checkpoint in the proof."""

    files: dict[str, bytes]
    proof: str | None
    checkpoint: int | None = None


NOTHING = ReceiptFiles({}, None)


def receipt_files(delivery_id: UUID, gone: MissingParts, *, at: datetime) -> ReceiptFiles:
    """Returns the receipt with all disclosures that still exist, and its proof. Makes the receipt
    if it does not exist yet."""
    try:
        receipt = receipts.of_sent_answer(delivery_id, at=at)
        text = receipts.for_people(receipt) if receipt else ""
    except Unreadable:
        gone.add("receipt", missing.NO_KEY)
        return NOTHING
    if receipt is None:
        gone.add("receipt", NOT_SENT)
        return NOTHING
    files = {"receipt.sd-jwt": text.encode()}
    try:
        proof = log_proofs.with_proof(receipt, text)
    except log_proofs.DamagedLog:
        gone.add("proof that the receipt is in the log", DAMAGED_LOG)
        return ReceiptFiles(files, None)
    if proof is None:
        return ReceiptFiles(files, WAITING)
    files["receipt.tlog-proof"] = proof.encode()
    if receipt.key.issuer:  # the checkpoint of the server from which the team moved
        return ReceiptFiles(files, INCLUDED)
    _, size, *_ = proof.partition("\n\n")[2].splitlines()  # https://c2sp.org/tlog-checkpoint
    return ReceiptFiles(files, INCLUDED, int(size))
