"""A receipt in an evidence export has its proof, or says why not."""

from __future__ import annotations

import base64

import pytest

from accounts.log import sweep
from accounts.log.checkpoints import checkpoints
from accounts.models import Agent, CheckpointSending, LogTile
from database.clock import database_now
from inbox.audit.evidence.receipt_files import DAMAGED_LOG
from tests.inbox.audit.evidence.opened import evidence_of
from tests.wake.claims.test_claims import Question
from wake_client.proof.verdicts import judge

pytestmark = pytest.mark.django_db
PROOF = "proof that the receipt is in the log"


def test_the_proof_of_a_receipt_that_the_export_makes_waits_and_is_not_missing(
    refund: Question, agent: Agent
) -> None:
    opened = evidence_of(agent)

    record, manifest = opened.record(refund.pk), opened.json("manifest.json")
    assert (record["receipt"], record["proof"]) == (
        f"deliveries/{refund.pk}/receipt.sd-jwt",
        "waiting",
    )
    assert record["missing"] == opened.rows("missing.csv") == []
    assert [row["proof"] for row in opened.rows("deliveries.csv")] == ["waiting"]
    counts = manifest["counts"]
    assert (counts["receipts"], counts["proofs"], counts["proofs_waiting"]) == (1, 0, 1)
    summary = opened.text("summary.html")
    assert "The proof that it is in the log is not made yet." in summary
    assert "proofs waiting 1" in summary
    receipt = opened.text(f"deliveries/{refund.pk}/receipt.sd-jwt")
    verdicts = judge(receipt, opened.json("wake-keys.json")).by_name()
    assert (verdicts["signed"].value, verdicts["logged"].value) == (True, None)


def test_the_receipt_has_its_proof_once_a_checkpoint_covers_it(
    refund: Question, agent: Agent
) -> None:
    evidence_of(agent)  # makes the receipt
    sweep.append_new(at=database_now())
    assert checkpoints.make(at=database_now()) is not None

    opened = evidence_of(agent)

    proof = opened.text(f"deliveries/{refund.pk}/receipt.tlog-proof")
    verdicts = judge(proof, opened.json("wake-keys.json"))
    assert [each.value for each in verdicts.by_name().values()][:2] == [True, True]
    assert opened.record(refund.pk)["proof"] == "included"
    assert opened.record(refund.pk)["missing"] == []
    assert "not made yet" not in opened.text("summary.html")
    assert not any(path.startswith("checkpoints/") for path in opened.files)


def test_the_time_stamp_of_the_checkpoint_of_a_proof_is_in_the_archive(
    refund: Question, agent: Agent
) -> None:
    evidence_of(agent)  # makes the receipt
    sweep.append_new(at=database_now())
    stamped = checkpoints.make(at=database_now())
    assert stamped is not None
    row = {"kind": "timestamp", "result": base64.b64encode(b"stamp").decode()}
    CheckpointSending.objects.create(checkpoint=stamped, sent_at=database_now(), **row)

    opened = evidence_of(agent)

    assert opened.files[f"checkpoints/{stamped.size}.tsr"] == b"stamp"
    note = opened.text(f"checkpoints/{stamped.size}")
    assert note == stamped.note
    assert opened.text(f"deliveries/{refund.pk}/receipt.tlog-proof").endswith(f"\n\n{note}")


def test_a_damaged_log_is_named_and_does_not_end_the_export(refund: Question, agent: Agent) -> None:
    evidence_of(agent)  # makes the receipt
    sweep.append_new(at=database_now())
    assert checkpoints.make(at=database_now()) is not None
    LogTile.objects.all().delete()

    opened = evidence_of(agent)

    assert "manifest.json" in opened.files
    assert f"deliveries/{refund.pk}/receipt.sd-jwt" in opened.files
    assert opened.record(refund.pk)["proof"] is None
    assert opened.record(refund.pk)["missing"] == [{"what": PROOF, "why": DAMAGED_LOG}]
    assert DAMAGED_LOG in opened.text("missing.csv")
