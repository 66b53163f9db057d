"""Appends the events of the audit to a hash chain for each team.

Each entry has a hash over its event and all entries before it. A sweep writes the entries a few
seconds after the events, one sweep at a time, in the order of the events' numbers. A number is
assigned before its transaction commits, so an event may become visible after later ones have
entries. It gets its entry all the same, later in its chain: a sweep looks at every event above the
checkpoint (`AuditCheckpoint`), which rises only past numbers that no transaction can use any more
(docs/decisions/0008-the-audit-chain.md).
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.audit import totals
from accounts.models import AuditCheckpoint, AuditEntry, AuditEvent, AuditTip

log = logging.getLogger(__name__)

BEGINNING = "0" * 64
NO_TEAM = 0
AT_ONCE = 1_000
DRAIN_SECONDS = 20.0


class EntryAfterTip(Exception):
    """An entry stands after the tip of its chain, where the next one belongs: it was written by
    another program, or the tip was set back."""

    def __init__(self, entry: AuditEntry) -> None:
        super().__init__(EntryAfterTip.__doc__)
        self.entry = entry


def append_new(*, at: datetime, seconds: float = DRAIN_SECONDS) -> int:
    """Appends the events that have no entry yet, for at most `seconds`; returns how many. It
    returns 0 while another process appends. A chain that has a foreign entry after its tip waits,
    the log says so, and all other chains continue."""
    if not _has_new_events():
        return 0
    decided = _note_decided()
    if decided is None:
        return 0
    appended, after = 0, 0
    blocked: set[int] = set()
    stop_at = time.monotonic() + seconds
    while time.monotonic() < stop_at:
        try:
            batch = _append_next(after, decided=decided, blocked=blocked, at=at)
        except EntryAfterTip as error:
            log.critical(
                "An audit chain cannot be extended: %s stands after its tip. The events of this "
                "chain are kept and wait; docs/operations.md, An entry after the tip, says what to "
                "do",
                described(error.entry),
            )
            blocked.add(error.entry.chain)
            continue
        appended += len(batch)
        if len(batch) < AT_ONCE:
            break
        after = batch[-1].pk
    return appended


def chain_of(event: AuditEvent) -> int:
    return NO_TEAM if event.team_id is None else event.team_id


def link(before: str, event: AuditEvent) -> str:
    """Returns the hash of an event whose predecessor has the hash `before`."""
    return hashlib.sha256(bytes.fromhex(before) + canonical(event)).hexdigest()


def canonical(event: AuditEvent) -> bytes:
    """Returns everything about the event, always in the same bytes."""
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


def without_entry() -> QuerySet[AuditEvent]:
    entries = AuditEntry.objects.filter(event_id=OuterRef("pk"))
    return AuditEvent.objects.filter(~Exists(entries)).order_by("pk")


def entry_after_tip(chain: int) -> AuditEntry | None:
    """Returns the first entry after the tip, if there is one. It is one statement, because a sweep
    writes entries and tip between two."""
    ends = AuditTip.objects.filter(chain=chain).values("position")
    after = AuditEntry.objects.filter(chain=chain, position__gt=Coalesce(Subquery(ends), 0))
    return after.order_by("position").first()


def described(entry: AuditEntry) -> str:
    place = f"of event {entry.event_id}, position {entry.position}, chain {entry.chain}"
    return f"entry {entry.pk} ({place})"


def _has_new_events() -> bool:
    """Checks without a lock, because usually there are none."""
    until = AuditCheckpoint.objects.values_list("event_id", flat=True).first()
    return _newest() != (until or 0)


def _newest() -> int:
    return AuditEvent.objects.aggregate(newest=Max("pk"))["newest"] or 0


@transaction.atomic
def _note_decided() -> int | None:
    """Returns the number up to which every event is committed or never will be; None while another
    process appends.

    An INSERT that takes a number holds a lock on the table until its transaction ends. The newest
    event at one moment is therefore decided once every transaction that held such a lock at that
    moment has ended. Later transactions do not matter.
    """
    checkpoint = _locked_checkpoint()
    if checkpoint is None:
        return None
    newest = _newest()  # before looking for writers
    writers = _writers()
    if not writers:
        checkpoint.candidate, checkpoint.writers, decided = newest, [], newest
    elif set(writers) & set(checkpoint.writers):
        decided = checkpoint.event_id
    else:
        decided, checkpoint.candidate, checkpoint.writers = checkpoint.candidate, newest, writers
    checkpoint.save(update_fields=["candidate", "writers"])
    return decided


@transaction.atomic
def _append_next(
    after: int, *, decided: int, blocked: Collection[int], at: datetime
) -> Sequence[AuditEvent]:
    """Appends the next events, in one transaction, and returns them. The checkpoint stays below the
    waiting events of a blocked chain, so that the next sweep finds them."""
    checkpoint = _locked_checkpoint()
    if checkpoint is None:
        return []
    waiting, is_blocked = without_entry(), _of_chains(blocked)
    events = list(
        waiting.filter(pk__gt=max(checkpoint.event_id, after)).exclude(is_blocked)[:AT_ONCE]
    )
    if events:
        chains = _append(events, at=at)
        totals.add(checkpoint, chains=chains, events=len(events))
    reached = min(decided, events[-1].pk) if len(events) == AT_ONCE else decided
    if blocked and (held := waiting.filter(is_blocked, pk__gt=checkpoint.event_id).first()):
        reached = min(reached, held.pk - 1)
    if reached > checkpoint.event_id:
        checkpoint.event_id = reached
        checkpoint.save(update_fields=["event_id"])
    return events


def _of_chains(chains: Collection[int]) -> Q:
    return Q(team_id__in=chains) | (Q(team_id__isnull=True) if NO_TEAM in chains else Q())


def _append(events: Sequence[AuditEvent], *, at: datetime) -> int:
    """Writes the entries of these events and moves the tips. Returns how many chains are new."""
    tips = AuditTip.objects.in_bulk({chain_of(event) for event in events})
    known = len(tips)
    forged = {chain for chain, tip in tips.items() if not totals.is_genuine(tip)}
    entries = []
    for event in events:
        chain = chain_of(event)
        tip = tips.setdefault(chain, AuditTip(chain=chain, position=0, hash=BEGINNING))
        tip.position, tip.hash, tip.appended_at = tip.position + 1, link(tip.hash, event), at
        entries.append(
            AuditEntry(
                event_id=event.pk,
                chain=chain,
                position=tip.position,
                hash=tip.hash,
                appended_at=at,
            )
        )
    _insert(entries)
    for chain in tips.keys() - forged:
        totals.sign_tip(tips[chain])
    if forged:  # they keep their signatures, because new ones would hide that
        log.critical("The tips of audit chains were changed; audit_verify says more")
    AuditTip.objects.bulk_create(
        tips.values(),
        update_conflicts=True,
        unique_fields=["chain"],
        update_fields=["position", "hash", "appended_at", "signature"],
    )
    return len(tips) - known


def _insert(entries: Sequence[AuditEntry]) -> None:
    try:
        with transaction.atomic():
            AuditEntry.objects.bulk_create(entries)
    except IntegrityError:
        for chain in sorted({entry.chain for entry in entries}):
            if entry := entry_after_tip(chain):
                raise EntryAfterTip(entry) from None
        raise


def _locked_checkpoint() -> AuditCheckpoint | None:
    """Locks the checkpoint and returns it, or None while another process has locked it."""
    AuditCheckpoint.objects.get_or_create(pk=1)
    return AuditCheckpoint.objects.select_for_update(skip_locked=True).first()


def _writers() -> list[str]:
    """Returns the other open transactions that have written events or are about to. SQLite has one
    writer at a time, which is this one."""
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
