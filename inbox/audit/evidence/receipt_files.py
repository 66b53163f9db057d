"""Returns the receipt of a delivery, with the proof that it is in the log, for an evidence
export."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from database.encryption import Unreadable
from inbox.audit.evidence import missing
from inbox.audit.evidence.missing import MissingParts
from wake.proof import log_proofs, receipts

NO_PROOF = (
    "No checkpoint of the log covered the receipt when the export was made. A checkpoint is made "
    "each hour, so a later export has the proof."
)
DAMAGED_LOG = (
    "A part of the server's log was damaged when the export was made. The person who runs the "
    "server can repair it, and a later export then has the proof."
)
NOT_SENT = "The answer could still be taken back when the export was made, so it has no receipt."


def receipt_files(delivery_id: UUID, gone: MissingParts, *, at: datetime) -> dict[str, bytes]:
    """Returns the files by name, with all disclosures that still exist. Makes the receipt if it
    does not exist yet."""
    try:
        receipt = receipts.of_sent_answer(delivery_id, at=at)
        text = receipts.for_people(receipt) if receipt else ""
    except Unreadable:
        gone.add("receipt", missing.NO_KEY)
        return {}
    if receipt is None:
        gone.add("receipt", NOT_SENT)
        return {}
    files = {"receipt.sd-jwt": text.encode()}
    reason = NO_PROOF
    try:
        proof = log_proofs.with_proof(receipt, text)
    except log_proofs.DamagedLog:
        proof, reason = None, DAMAGED_LOG
    if proof:
        files["receipt.tlog-proof"] = proof.encode()
    else:
        gone.add("proof that the receipt is in the log", reason)
    return files
