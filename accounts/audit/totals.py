"""Verifies the signatures of version 0.2 over the tip of each audit chain, and over the number of
chains and events.

Without signatures, someone could replace a whole chain together with its tip. Someone could also
remove all events, all entries and the tip of a team, and the team would look as if it had never
done anything. The keys of the signatures are not in the database (accounts/audit/signatures.py).
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import Count, Sum

from accounts.audit.signatures import is_signed, sign
from accounts.models import AuditCheckpoint, AuditTip


def sign_tip(tip: AuditTip) -> None:
    tip.signature = sign(_tip_text(tip))


def is_genuine(tip: AuditTip) -> bool:
    return is_signed(_tip_text(tip), tip.signature)


def forged_tips() -> list[int]:
    """Returns the chains whose tip was not written by a sweep of version 0.2."""
    return [tip.chain for tip in AuditTip.objects.order_by("chain") if not is_genuine(tip)]


def problem() -> str:
    """Returns a sentence about a problem of the chains as a whole, or an empty text."""
    checkpoint = AuditCheckpoint.objects.first() or AuditCheckpoint()
    chains, events = _count()
    is_unchained = not checkpoint.signature and not chains
    if not (is_unchained or _totals_are_genuine(checkpoint)):
        return "The signed totals of the audit were removed or changed by hand."
    if (checkpoint.chains, checkpoint.events) != (chains, events):
        return (
            f"The totals count {checkpoint.events} events in {checkpoint.chains} chains, and the "
            f"tips {events} in {chains}: a chain was removed, or its tip was changed."
        )
    return ""


@transaction.atomic
def count_again() -> None:
    """Counts and signs the chains again, after a repair by hand or a sweep of version 0.1."""
    checkpoint = _locked_checkpoint()
    for tip in AuditTip.objects.all():
        _sign_again(tip)
    checkpoint.chains, checkpoint.events = _count()
    _sign_totals(checkpoint)


@transaction.atomic
def sign_with_newest_key() -> None:
    """Signs genuine totals and tips again with the newest key, so that older keys can be
    removed."""
    checkpoint = _locked_checkpoint()
    for tip in filter(is_genuine, AuditTip.objects.all()):
        _sign_again(tip)
    if _totals_are_genuine(checkpoint):
        _sign_totals(checkpoint)


def _locked_checkpoint() -> AuditCheckpoint:
    """Waits for a running sweep."""
    AuditCheckpoint.objects.get_or_create(pk=1)
    return AuditCheckpoint.objects.select_for_update().get(pk=1)


def _sign_again(tip: AuditTip) -> None:
    sign_tip(tip)
    tip.save(update_fields=["signature"])


def _sign_totals(checkpoint: AuditCheckpoint) -> None:
    checkpoint.signature = sign(_totals_text(checkpoint))
    checkpoint.save(update_fields=["chains", "events", "signature"])


def _totals_are_genuine(checkpoint: AuditCheckpoint) -> bool:
    return is_signed(_totals_text(checkpoint), checkpoint.signature)


def _count() -> tuple[int, int]:
    tips = AuditTip.objects.aggregate(chains=Count("pk"), events=Sum("position"))
    return tips["chains"], tips["events"] or 0


def _totals_text(checkpoint: AuditCheckpoint) -> str:
    return f"audit totals {checkpoint.chains} {checkpoint.events}"


def _tip_text(tip: AuditTip) -> str:
    return f"audit tip {tip.chain} {tip.position} {tip.hash}"
