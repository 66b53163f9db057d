"""Signs the tip of each audit chain, and the number of chains and events.

A tip alone can be replaced together with its whole chain, and a team whose events, entries and tip
were all removed looks like one that never did anything. The keys of the signatures are not in the
database (accounts/audit/signatures.py).
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import transaction
from django.db.models import Count, Sum

from accounts.audit.signatures import is_signed, sign
from accounts.models import AuditCheckpoint, AuditEvent, AuditTip, Team
from database.clock import database_now

TIME_TO_CHAIN = timedelta(hours=1)

log = logging.getLogger(__name__)


def add(checkpoint: AuditCheckpoint, *, chains: int, events: int) -> None:
    """Adds to the totals. Totals that were tampered with stay as they are, because a new signature
    would hide that."""
    is_first = not checkpoint.signature and _count() == (chains, events)
    if not (is_first or _totals_are_genuine(checkpoint)):
        log.critical("The totals of the audit were changed; audit_verify says more")
        return
    checkpoint.chains, checkpoint.events = checkpoint.chains + chains, checkpoint.events + events
    _sign_totals(checkpoint)


def sign_tip(tip: AuditTip) -> None:
    tip.signature = sign(_tip_text(tip))


def is_genuine(tip: AuditTip) -> bool:
    return is_signed(_tip_text(tip), tip.signature)


def forged_tips() -> list[int]:
    """Returns the chains whose tip no sweep wrote."""
    return [tip.chain for tip in AuditTip.objects.order_by("chain") if not is_genuine(tip)]


def problem() -> str:
    """Returns what is wrong with the audit as a whole, as a sentence, or an empty text."""
    checkpoint, (chains, events) = _read()
    is_unchained = not checkpoint.signature and not chains
    if not (is_unchained or _totals_are_genuine(checkpoint)):
        return "The signed totals of the audit were removed or changed by hand."
    if (checkpoint.chains, checkpoint.events) != (chains, events):
        return (
            f"The totals count {checkpoint.events} events in {checkpoint.chains} chains, and the "
            f"tips {events} in {chains}: a chain was removed, or its tip was changed."
        )
    return _problem_of_the_beginning()


def _problem_of_the_beginning() -> str:
    """Returns a sentence if the event of the first team's creation is missing. The signatures do
    not show this: if the whole audit was removed, with its totals, the next sweep takes it for a
    new one, and signs it."""
    first = AuditEvent.objects.order_by("pk").values_list("at", flat=True).first()
    begins_at = first or database_now()
    if not Team.objects.filter(created_at__lt=begins_at - TIME_TO_CHAIN).exists():
        return ""
    if first is None:
        return "There are teams, but no events: the events were removed."
    return "A team is older than the first event: what came before was removed."


def has_no_chain() -> bool:
    """Returns whether there is no chain, although there are events older than an hour. A sweep
    chains each event within a minute, so no job has run, or the chains were removed."""
    checkpoint, (chains, _) = _read()
    chained_by = database_now() - TIME_TO_CHAIN
    is_empty = not checkpoint.signature and not chains
    return is_empty and AuditEvent.objects.filter(at__lt=chained_by).exists()


@transaction.atomic
def count_again() -> None:
    """Counts and signs again, after a repair by hand or a sweep of an older release."""
    checkpoint = _locked_checkpoint()
    for tip in AuditTip.objects.all():
        _sign_again(tip)
    checkpoint.chains, checkpoint.events = _count()
    _sign_totals(checkpoint)


@transaction.atomic
def sign_with_newest_key() -> None:
    """Signs again what is genuine, so that the other keys can be removed."""
    checkpoint = _locked_checkpoint()
    for tip in filter(is_genuine, AuditTip.objects.all()):
        _sign_again(tip)
    if _totals_are_genuine(checkpoint):
        _sign_totals(checkpoint)


def _locked_checkpoint() -> AuditCheckpoint:
    """Waits for a sweep, which changes tips and totals together."""
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


def _read() -> tuple[AuditCheckpoint, tuple[int, int]]:
    """Reads both as of one moment: a sweep writes them together, perhaps between two statements."""
    while True:
        before = AuditCheckpoint.objects.first() or AuditCheckpoint()
        counted = _count()
        after = AuditCheckpoint.objects.first() or AuditCheckpoint()
        if (before.chains, before.events) == (after.chains, after.events):
            return after, counted


def _count() -> tuple[int, int]:
    tips = AuditTip.objects.aggregate(chains=Count("pk"), events=Sum("position"))
    return tips["chains"], tips["events"] or 0


def _totals_text(checkpoint: AuditCheckpoint) -> str:
    return f"audit totals {checkpoint.chains} {checkpoint.events}"


def _tip_text(tip: AuditTip) -> str:
    return f"audit tip {tip.chain} {tip.position} {tip.hash}"
