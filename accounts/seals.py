"""Seals the audit: each team's events are a chain, whose links say what all before them were.

No event waits for its seal: a sweep writes them a few seconds later, one sweep at a time, in the
order of the events' numbers. Numbers are handed out before their transactions commit, so an event
may become visible after later ones were sealed. It is sealed all the same, further down its chain:
a sweep looks at every event above `SealedUntil`, which only rises where nobody can write below it
any more (docs/decisions/0008-the-audit-chain.md).
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.models import AuditEvent, AuditHead, AuditSeal, SealedUntil

log = logging.getLogger(__name__)

BEGINNING = "0" * 64
NO_TEAM = 0
AT_ONCE = 1_000
DRAIN_SECONDS = 20.0


class InTheWay(Exception):
    """A seal stands after the end of its chain, where the next one belongs: somebody wrote it, or
    set the end back."""

    def __init__(self, seal: AuditSeal) -> None:
        super().__init__(InTheWay.__doc__)
        self.seal = seal


def seal_new(*, at: datetime, seconds: float = DRAIN_SECONDS) -> int:
    """Seals what nobody has sealed yet, for so long at most; returns how many events that were.
    Where somebody else is at it, none; nor where a seal is in the way, which the log then tells."""
    if not _is_news():
        return 0
    decided = _note_decided()
    sealed, after = 0, 0
    stop_at = time.monotonic() + seconds
    while decided is not None and time.monotonic() < stop_at:
        try:
            batch = _seal_next(after, decided=decided, at=at)
        except InTheWay as found:
            log.critical(
                "The audit cannot be sealed: %s stands after the end of its chain. Events are kept "
                "and wait; what to do is in docs/operations.md, A seal after the end",
                described(found.seal),
            )
            break
        sealed += len(batch)
        if len(batch) < AT_ONCE:
            break
        after = batch[-1].pk
    return sealed


def chain_of(event: AuditEvent) -> int:
    return NO_TEAM if event.team_id is None else event.team_id


def link(before: str, event: AuditEvent) -> str:
    """The hash of an event that comes after the one with the hash `before`."""
    return hashlib.sha256(bytes.fromhex(before) + canonical(event)).hexdigest()


def canonical(event: AuditEvent) -> bytes:
    """Everything that is known of the event, always in the same bytes."""
    facts = [
        event.pk,
        event.at.astimezone(UTC).isoformat(timespec="microseconds"),
        event.team_id,
        event.event,
        event.actor_kind,
        event.actor_id,
        event.actor_name,
        event.object_kind,
        event.object_id,
        event.object_name,
        event.address,
        event.detail,
    ]
    return json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()


def unsealed() -> QuerySet[AuditEvent]:
    seals = AuditSeal.objects.filter(event_id=OuterRef("pk"))
    return AuditEvent.objects.filter(~Exists(seals)).order_by("pk")


def beyond_head(chain: int) -> AuditSeal | None:
    """The first seal after the end of the chain, where there is one: a sweep writes both at once.
    Asked in one statement, or a sweep could come between."""
    ends = AuditHead.objects.filter(chain=chain).values("position")
    after = AuditSeal.objects.filter(chain=chain, position__gt=Coalesce(Subquery(ends), 0))
    return after.order_by("position").first()


def described(seal: AuditSeal) -> str:
    return (
        f"seal {seal.pk} (of event {seal.event_id}, position {seal.position}, chain {seal.chain})"
    )


def _is_news() -> bool:
    """Without a lock, because mostly there is none."""
    until = SealedUntil.objects.values_list("event_id", flat=True).first()
    return _newest() != (until or 0)


def _newest() -> int:
    return AuditEvent.objects.aggregate(newest=Max("pk"))["newest"] or 0


@transaction.atomic
def _note_decided() -> int | None:
    """The number up to which every event is written for good or never will be; None where somebody
    else seals.

    A number is handed out to a statement that locks the table for writing, and keeps that lock to
    the end of its transaction. So what was the newest event is decided as soon as everybody who
    held such a lock then has ended, however many have come since.
    """
    mark = _held_mark()
    if mark is None:
        return None
    newest = _newest()  # before looking at who writes
    writers = _writers()
    if not writers:
        mark.candidate, mark.writers, decided = newest, [], newest
    elif set(writers) & set(mark.writers):
        decided = mark.event_id
    else:
        decided, mark.candidate, mark.writers = mark.candidate, newest, writers
    mark.save(update_fields=["candidate", "writers"])
    return decided


@transaction.atomic
def _seal_next(after: int, *, decided: int, at: datetime) -> Sequence[AuditEvent]:
    """The next events, in one transaction with their seals."""
    mark = _held_mark()
    if mark is None:
        return []
    events = list(unsealed().filter(pk__gt=max(mark.event_id, after))[:AT_ONCE])
    if events:
        _append(events, at=at)
    reached = min(decided, events[-1].pk) if len(events) == AT_ONCE else decided
    if reached > mark.event_id:
        mark.event_id = reached
        mark.save(update_fields=["event_id"])
    return events


def _append(events: Sequence[AuditEvent], *, at: datetime) -> None:
    heads = AuditHead.objects.in_bulk({chain_of(event) for event in events})
    seals = []
    for event in events:
        chain = chain_of(event)
        head = heads.setdefault(chain, AuditHead(chain=chain, position=0, hash=BEGINNING))
        head.position, head.hash, head.sealed_at = head.position + 1, link(head.hash, event), at
        seals.append(
            AuditSeal(
                event_id=event.pk,
                chain=chain,
                position=head.position,
                hash=head.hash,
                sealed_at=at,
            )
        )
    _insert(seals)
    AuditHead.objects.bulk_create(
        heads.values(),
        update_conflicts=True,
        unique_fields=["chain"],
        update_fields=["position", "hash", "sealed_at"],
    )


def _insert(seals: Sequence[AuditSeal]) -> None:
    try:
        with transaction.atomic():
            AuditSeal.objects.bulk_create(seals)
    except IntegrityError:
        for chain in sorted({seal.chain for seal in seals}):
            if seal := beyond_head(chain):
                raise InTheWay(seal) from None
        raise


def _held_mark() -> SealedUntil | None:
    """The one row, locked; None where somebody else holds it."""
    SealedUntil.objects.get_or_create(pk=1)
    skip = connection.features.has_select_for_update_skip_locked
    return SealedUntil.objects.select_for_update(skip_locked=skip).first()


def _writers() -> list[str]:
    """The other transactions that have written events, or are about to, and have not ended; SQLite
    has one writer at a time, and that is us."""
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT DISTINCT virtualtransaction FROM pg_locks
             WHERE relation = %s::regclass AND mode = 'RowExclusiveLock'
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
               AND pid IS DISTINCT FROM pg_backend_pid()
            """,
            [AuditEvent._meta.db_table],
        )
        return [writer for (writer,) in cursor.fetchall()]
