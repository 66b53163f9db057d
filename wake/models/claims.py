"""Defines what follows an answer: claims of approvals, outcomes that agents report, failures, and
signed receipts."""

from __future__ import annotations

import json
import uuid
from datetime import datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import Q

from accounts.models import Gate, KeyPair, Team
from database.encrypted_columns import ContentTextField
from wake.models.deliveries import Delivery
from wake.models.responses import Response


class Claim(models.Model):
    """Says that an approval was used. An approval has at most one claim, and a claimed approval can
    never be taken back."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    response = models.OneToOneField(Response, on_delete=models.PROTECT, related_name="claim")
    claimed_at = models.DateTimeField()
    # The beginning of the key that claimed the approval. If that key belongs to a gate and not to
    # the agent, `gate` names the gate.
    key_hint = models.CharField(max_length=24)
    gate = models.ForeignKey(
        Gate, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    gate_name = models.CharField(max_length=80, blank=True)
    idempotency_key = models.CharField(max_length=255, blank=True)

    def __str__(self) -> str:
        return f"Claim of {self.response_id}"


def claimable_until(delivery: Delivery, response: Response) -> datetime | None:
    """Returns the time after which the approval of a delivery can no longer be claimed. Returns
    None if there is no such time, or if the response is not released yet."""
    seconds = delivery.claim_within_seconds
    if seconds is None or response.responded_at is None:
        return None
    return response.responded_at + timedelta(seconds=seconds)


class Outcome(models.Model):
    """Stores one outcome that an agent reported about a delivery."""

    class Status(models.TextChoices):
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        SKIPPED = "skipped", "Skipped"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    delivery = models.ForeignKey(
        Delivery, on_delete=models.PROTECT, related_name="outcomes", db_index=False
    )
    status = models.CharField(max_length=7, choices=Status)
    summary: models.TextField[str, str] = ContentTextField(blank=True)
    details_json: models.TextField[str | None, str | None] = ContentTextField(
        null=True
    )  # NULL stands for JSON's null, as in Delivery.details_json
    reported_at = models.DateTimeField()
    key_hint = models.CharField(max_length=24, blank=True)
    idempotency_key = models.CharField(max_length=255, null=True)  # noqa: DJ001 - unique where it is there
    idempotency_hash = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["delivery", "idempotency_key"],
                condition=Q(idempotency_key__isnull=False),
                name="one_outcome_an_idempotency_key",
            ),
        ]
        indexes = [models.Index(fields=["delivery", "reported_at"], name="outcomes_of_a_delivery")]

    def __str__(self) -> str:
        return self.get_status_display()

    @property
    def created_at(self) -> Any:
        """Returns the instant from which an Idempotency-Key counts (database/idempotency.py)."""
        return self.reported_at

    @property
    def details(self) -> Any:
        """Returns a dict, a str or None, as the agent sent it."""
        return None if self.details_json is None else json.loads(self.details_json)


class Failure(models.Model):
    """Says that an action failed after a person approved it. The row exists while a failure is the
    newest outcome of the delivery. The inbox shows it until a person clicks "Got it"."""

    delivery = models.OneToOneField(
        Delivery, on_delete=models.PROTECT, primary_key=True, related_name="failure"
    )
    # The team of the delivery, so that one index finds the failures of a team.
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+", db_index=False)
    outcome = models.ForeignKey(Outcome, on_delete=models.PROTECT, related_name="+", db_index=False)
    failed_at = models.DateTimeField()
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=80, blank=True)

    class Meta:
        indexes = [models.Index(fields=["team", "acknowledged_at"], name="failures_of_a_team")]

    def __str__(self) -> str:
        return f"Failure of {self.delivery_id}"


class ReceiptKey(KeyPair):
    """Stores a key pair that signs receipts."""

    # When the operator said that another party had the private key. A thief can write any time into
    # a receipt, so no time decides whether a receipt counts. A receipt of this pair counts only if
    # it is among the first `cut_size` entries of the log.
    cut_at = models.DateTimeField(null=True)
    cut_size = models.BigIntegerField(null=True)
    # The address of the server that has this pair, if a team brought its receipts from there. Only
    # the public key is then stored. Empty for the pairs of this server.
    issuer = models.CharField(max_length=300, blank=True, default="", db_default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["is_current"],
                condition=Q(is_current=True),
                name="one_current_receipt_key",
            ),
            models.CheckConstraint(
                condition=Q(cut_at__isnull=True, cut_size__isnull=True)
                | Q(cut_at__isnull=False, cut_size__isnull=False, is_current=False),
                name="receipt_keys_are_cut_at_a_size",
            ),
        ]


class Receipt(models.Model):
    """Stores a signed receipt of an answer, so that each request gets the same bytes. Its id is the
    `jti`. An answer has one receipt, and a second one after its claim."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # An answer that is taken back was never sent, and neither was its receipt.
    response = models.ForeignKey(
        Response, on_delete=models.CASCADE, related_name="receipts", db_index=False
    )
    # Whether the receipt says that the approval was claimed.
    is_claimed = models.BooleanField()
    key = models.ForeignKey(ReceiptKey, on_delete=models.PROTECT, related_name="+", db_index=False)
    issued_at = models.DateTimeField()
    # The signed JWT without its disclosures. The JWT names no person and no content.
    jwt = models.TextField(editable=False)
    # The disclosures (RFC 9901, 4.2), each followed by `~`. Retention erases the disclosures of the
    # content, and the removal of a person erases the disclosures with the person's name. Each
    # disclosure contains a salt, without which the digest in the JWT confirms no guess.
    content_disclosures: models.TextField[str, str] = ContentTextField(blank=True)
    person_disclosure: models.TextField[str, str] = ContentTextField(blank=True)
    vote_disclosures: models.TextField[str, str] = ContentTextField(blank=True)
    # Signatures of people, which both retention and the removal of a person erase.
    signature_disclosures: models.TextField[str, str] = ContentTextField(
        blank=True, default="", db_default=""
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["response", "is_claimed"], name="one_receipt_before_and_after_a_claim"
            )
        ]

    def __str__(self) -> str:
        return str(self.id)


class CarriedProof(models.Model):
    """Stores the proof that a receipt is in the log of the server from which its team moved. The
    log of this server does not have the receipt (wake/proof/log_proofs.py)."""

    receipt = models.OneToOneField(
        Receipt, on_delete=models.CASCADE, primary_key=True, related_name="carried_proof"
    )
    index = models.BigIntegerField()
    # The members of the entry that are not in the receipt.
    entry = models.JSONField()
    # The inclusion proof, each hash in base64.
    hashes = models.JSONField(default=list)
    # The checkpoint, with its signatures.
    note = models.TextField()

    def __str__(self) -> str:
        return f"Proof of {self.receipt_id}"
