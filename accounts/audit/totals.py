"""Signs the number of audit chains and their events, outside of the chains.

Without it, a team whose events, entries and tip were all removed looks like one that never did
anything. The key of the signature is not in the database.
"""

from __future__ import annotations

import hashlib
import hmac
import logging

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Sum

from accounts.models import AuditCheckpoint, AuditTip

log = logging.getLogger(__name__)


def add(checkpoint: AuditCheckpoint, *, chains: int, events: int) -> None:
    """Adds to the totals. Totals that were tampered with stay as they are, because a new signature
    would hide that."""
    is_first = not checkpoint.signature and _tips() == (chains, events)
    if not (is_first or is_genuine(checkpoint)):
        log.critical("The totals of the audit were changed; audit_verify says more")
        return
    checkpoint.chains, checkpoint.events = checkpoint.chains + chains, checkpoint.events + events
    checkpoint.signature = signatures(checkpoint)[0]
    checkpoint.save(update_fields=["chains", "events", "signature"])


def is_genuine(checkpoint: AuditCheckpoint) -> bool:
    return any(hmac.compare_digest(checkpoint.signature, one) for one in signatures(checkpoint))


def difference() -> str:
    """Returns how the chains differ from the totals, as a sentence, or an empty text."""
    checkpoint, (chains, events) = _read()
    if not checkpoint.signature and not chains:
        return ""
    if not is_genuine(checkpoint):
        return "The signed totals of the audit were removed or changed by hand."
    if (checkpoint.chains, checkpoint.events) == (chains, events):
        return ""
    return (
        f"The totals count {checkpoint.events} events in {checkpoint.chains} chains, and the tips "
        f"{events} in {chains}: a chain was removed, or its tip was changed."
    )


@transaction.atomic
def count_again() -> None:
    """Counts and signs again, after a repair by hand or a sweep of an older release."""
    AuditCheckpoint.objects.get_or_create(pk=1)
    checkpoint = AuditCheckpoint.objects.select_for_update().get(pk=1)
    checkpoint.chains, checkpoint.events = _tips()
    checkpoint.signature = signatures(checkpoint)[0]
    checkpoint.save(update_fields=["chains", "events", "signature"])


def _read() -> tuple[AuditCheckpoint, tuple[int, int]]:
    """Reads both as of one moment: a sweep writes them together, perhaps between two statements."""
    while True:
        before = AuditCheckpoint.objects.first() or AuditCheckpoint()
        tips = _tips()
        after = AuditCheckpoint.objects.first() or AuditCheckpoint()
        if (before.chains, before.events) == (after.chains, after.events):
            return after, tips


def _tips() -> tuple[int, int]:
    tips = AuditTip.objects.aggregate(chains=Count("pk"), events=Sum("position"))
    return tips["chains"], tips["events"] or 0


def signatures(checkpoint: AuditCheckpoint) -> list[str]:
    """Returns a signature by each encryption key, the newest first."""
    text = f"audit totals {checkpoint.chains} {checkpoint.events}".encode()
    keys = [hashlib.sha256(f"audit totals {key}".encode()) for key in settings.WAKE_ENCRYPTION_KEYS]
    return [hmac.new(key.digest(), text, "sha256").hexdigest() for key in keys]
