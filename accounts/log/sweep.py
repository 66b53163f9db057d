"""Appends the events of the audit, and the receipts, to the log.

A sweep writes the entries a few seconds after the events, one sweep at a time, in the order of the
events' numbers. A number is assigned before its transaction commits, so an event may become visible
after events with higher numbers have entries. Such an event still gets an entry, later in the log,
because a sweep looks at every event above the checkpoint (`AuditCheckpoint`). The checkpoint moves
past a number only if no transaction can use that number any more
(docs/decisions/0008-the-audit-chain.md). A receipt waits in a row of its own (`LogWaiting`) until a
sweep appends it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from operator import or_

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.audit.key_ranges import KeyRange
from accounts.log import earlier_chains, entries, signed_tree, tiles
from accounts.log.entries import Content
from accounts.models import (
    AuditCheckpoint,
    AuditEntry,
    AuditEvent,
    LogEntry,
    LogTeam,
    LogTree,
    LogWaiting,
)

log = logging.getLogger(__name__)

AT_ONCE = 1_000
DRAIN_SECONDS = 20.0


class EntryAfterEnd(Exception):
    """There is an entry after the end of the log, in the place of the next entry. Another program
    wrote that entry, or the size of the log was set back."""

    def __init__(self, entry: LogEntry) -> None:
        super().__init__(EntryAfterEnd.__doc__)
        self.entry = entry


class EntryThere(Exception):
    """An entry of the log already has the team's number, or the receipt, of a new entry. Another
    program set the number back, or wrote that the receipt waits."""

    def __init__(self, entry: LogEntry, same: str) -> None:
        super().__init__(EntryThere.__doc__)
        self.entry, self.same = entry, same


def append_new(*, at: datetime, seconds: float = DRAIN_SECONDS, at_once: int = AT_ONCE) -> int:
    """Appends the events and receipts without an entry, `at_once` in each transaction, for at most
    `seconds`; returns how many. Returns 0 while another process appends, and if the log cannot be
    extended, which is then logged."""
    if not _has_work():
        return 0
    decided = _decided_up_to()
    if decided is None:
        return 0
    appended, after = 0, 0
    stop_at = time.monotonic() + seconds
    while time.monotonic() < stop_at:
        try:
            count, after = _append_next(after, decided=decided, at=at, at_once=at_once)
        except EntryAfterEnd as error:
            log.critical(
                "The log cannot be extended: %s stands after its end. All events are kept and "
                "wait; docs/operations.md, An entry after the end, says what to do",
                described(error.entry),
            )
            break
        except EntryThere as error:
            log.critical(
                "The log cannot be extended: the next entry would have the same %s as %s. All "
                "events are kept and wait; docs/operations.md, An entry that is there already, "
                "says what to do",
                error.same,
                described(error.entry),
            )
            break
        except tiles.DamagedTile:
            log.critical(
                "The log cannot be extended: a tile is missing or too short. All events are kept "
                "and wait; docs/operations.md, A damaged tile, says what to do"
            )
            break
        appended += count
        if count < at_once:
            break
    return appended


def without_entry(ids: KeyRange) -> QuerySet[AuditEvent]:
    """Returns the events with these ids that are neither in the log nor in a chain of version
    0.2."""
    logged = LogEntry.objects.filter(ids.of("event_id"), event_id=OuterRef("pk"))
    chained = AuditEntry.objects.filter(ids.of("event_id"), event_id=OuterRef("pk"))
    events = AuditEvent.objects.filter(ids.of("pk"), ~Exists(logged), ~Exists(chained))
    return events.order_by("pk")


def entry_after_end() -> LogEntry | None:
    """Returns the first entry after the end of the log, if there is one. Makes only one query,
    because a sweep could write entries and the size between two queries."""
    size = Coalesce(Subquery(LogTree.objects.values("size")[:1]), 0)
    return LogEntry.objects.filter(index__gte=size).order_by("index").first()


def described(entry: LogEntry) -> str:
    of = f"event {entry.event_id}" if entry.event_id is not None else f"{entry.kind}"
    return f"entry {entry.index} (of {of}, number {entry.number}, team {entry.team_id})"


def new_events(at: datetime) -> QuerySet[AuditEvent]:
    """Returns the events after the checkpoint."""
    until = Coalesce(Subquery(AuditCheckpoint.objects.values("event_id")[:1]), 0)
    return AuditEvent.objects.filter(pk__gt=until)


def waiting_objects(at: datetime) -> QuerySet[LogWaiting]:
    return LogWaiting.objects.all()


def _has_work() -> bool:
    """Checks without a lock, because usually there is nothing to do."""
    until = AuditCheckpoint.objects.values_list("event_id", flat=True).first()
    if _newest() != (until or 0) or LogWaiting.objects.exists():
        return True
    return earlier_chains.exist() and not LogTree.objects.filter(size__gt=0).exists()


def _newest() -> int:
    return AuditEvent.objects.aggregate(newest=Max("pk"))["newest"] or 0


@transaction.atomic
def _decided_up_to() -> int | None:
    """Returns the number up to which every event is either committed or never will be. Returns
    None while another process appends.

    An INSERT that takes a number holds a lock on the table until its transaction ends. So the sweep
    waits for every transaction that held such a lock at one moment. When all of these transactions
    have ended, the numbers up to the newest event of that moment are decided. Later transactions do
    not matter.
    """
    checkpoint = _locked_checkpoint()
    if checkpoint is None:
        return None
    newest = _newest()  # read before looking for writers
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
def _append_next(after: int, *, decided: int, at: datetime, at_once: int) -> tuple[int, int]:
    """Appends the next events and receipts, in one transaction. Returns how many it appended, and
    the number of the last event."""
    checkpoint = _locked_checkpoint()
    if checkpoint is None:
        return 0, after
    tree = signed_tree.to_extend()
    start = earlier_chains.contents() if not tree.size else []
    events = list(without_entry(KeyRange(max(checkpoint.event_id, after)))[:at_once])
    waiting = list(LogWaiting.objects.order_by("pk")[: at_once - len(events)])
    contents = [*map(entries.of_event, events), *map(entries.of_waiting, waiting)]
    if start or contents:
        _append([*start, *contents], tree=tree, at=at)
        LogWaiting.objects.filter(pk__in=[row.pk for row in waiting]).delete()
    reached = min(decided, events[-1].pk) if len(events) == at_once else decided
    if reached > checkpoint.event_id:
        checkpoint.event_id = reached
        checkpoint.save(update_fields=["event_id"])
    return len(contents), events[-1].pk if events else after


def _append(contents: Sequence[Content], *, tree: LogTree, at: datetime) -> None:
    """Writes the entries and tiles, and moves the tree on."""
    if not tree.size:
        _begin_numbers()
    teams = {content.team_id for content in contents}
    numbers = {row.team_id: row.number for row in LogTeam.objects.filter(team_id__in=teams)}
    appended = entries.made(contents, first=tree.size, numbers=numbers, at=at)
    _insert(appended)
    LogTeam.objects.bulk_create(
        [LogTeam(team_id=team_id, number=number) for team_id, number in numbers.items()],
        update_conflicts=True,
        unique_fields=["team_id"],
        update_fields=["number"],
    )
    signed_tree.extend(tree, [bytes(entry.hash) for entry in appended], at=at)


def _begin_numbers() -> None:
    """Makes the numbers of each team go on from its chain of version 0.2."""
    LogTeam.objects.bulk_create(
        [
            LogTeam(team_id=chain, number=position)
            for chain, position in earlier_chains.positions().items()
        ],
        ignore_conflicts=True,
    )


def _insert(appended: Sequence[LogEntry]) -> None:
    try:
        with transaction.atomic():
            _store(appended)
    except IntegrityError:
        if entry := entry_after_end():
            raise EntryAfterEnd(entry) from None
        receipts = {entry.receipt_id for entry in appended} - {None}
        if entry := LogEntry.objects.filter(receipt_id__in=receipts).first():
            raise EntryThere(entry, "receipt") from None
        if entry := _with_number_of(appended):
            raise EntryThere(entry, "number") from None
        raise


def _with_number_of(appended: Sequence[LogEntry]) -> LogEntry | None:
    """Returns an entry of the log that has a number of these new entries, if there is one."""
    first = {entry.team_id: entry.number for entry in reversed(appended)}
    taken = (Q(team_id=team_id, number__gte=number) for team_id, number in first.items())
    return LogEntry.objects.filter(reduce(or_, taken)).order_by("index").first()


def _store(appended: Sequence[LogEntry]) -> None:
    """Stores the rows. On PostgreSQL, COPY takes a third of the time of an INSERT with parameters
    (bench/log.py)."""
    if connection.vendor != "postgresql":
        LogEntry.objects.bulk_create(appended)
        return
    fields = LogEntry._meta.concrete_fields
    columns = ", ".join(f'"{field.column}"' for field in fields)
    statement = f"COPY {LogEntry._meta.db_table} ({columns}) FROM STDIN"
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,
        cursor.copy(statement) as copy,
    ):
        for entry in appended:
            copy.write_row([getattr(entry, field.attname) for field in fields])


def _locked_checkpoint() -> AuditCheckpoint | None:
    """Locks the checkpoint and returns it, or None while another process has locked it."""
    AuditCheckpoint.objects.get_or_create(pk=1)
    return AuditCheckpoint.objects.select_for_update(skip_locked=True).first()


def _writers() -> list[str]:
    """Returns the other open transactions that have written events or are about to. On SQLite there
    are no others, because SQLite has one writer at a time."""
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
