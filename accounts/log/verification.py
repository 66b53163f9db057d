"""Verifies the log: whether events or receipts were changed, removed, inserted or moved, and
whether entries, tiles and the root belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import OuterRef, Subquery

from accounts.audit.chain import NO_TEAM
from accounts.audit.key_ranges import KeyRange, key_ranges
from accounts.log import (
    earlier_chains,
    entries,
    merkle,
    receipts,
    signed_tree,
    sweep,
    tiles,
    tree,
)
from accounts.log.tiles import WIDTH
from accounts.models import AuditCheckpoint, AuditEvent, LogEntry, LogTeam, LogTree, LogWaiting

AT_ONCE = 8 * WIDTH


class Broken(Exception):
    """The log was tampered with. The message says where and how."""


@dataclass(frozen=True, slots=True)
class Verified:
    """Describes an unbroken log: its size and root, the first entry that was read, and how many
    events and receipts wait for their entry."""

    size: int
    root: bytes
    start: int
    waiting: int

    @property
    def head(self) -> str:
        return f"{self.size}:{self.root.hex()}"


def verify(*, from_start: bool = False, at_once: int = AT_ONCE) -> Verified:
    """Verifies the entries since the last verification, or all of them. Each statement reads at
    most `at_once` entries, events or receipts. `at_once` is a multiple of 256. Raises Broken at the
    first wrong entry, and tiles.DamagedTile."""
    until = AuditCheckpoint.objects.values_list("event_id", flat=True).first() or 0
    stored = signed_tree.stored()
    start = 0 if from_start else _verified_size(stored)
    _check_entries(start - start % WIDTH, stored.size, at_once=at_once)
    _check_numbers(start, stored.size, at_once=at_once)
    if entry := sweep.entry_after_end():
        raise Broken(f"{sweep.described(entry).capitalize()} stands after the end of the log.")
    if tree.root(stored.size) != bytes(stored.root):
        raise Broken(f"Size {stored.size}: the log ended here with another root.")
    _check_nothing_is_forgotten(until, at_once=at_once)
    if not signed_tree.is_genuine(stored):
        raise Broken("Wake did not sign the size and root of the log.")
    waiting = _waiting_events(until, at_once=at_once) + LogWaiting.objects.count()
    return Verified(stored.size, bytes(stored.root), start, waiting)


def verify_team(team_id: int, *, at_once: int = AT_ONCE) -> range:
    """Verifies every entry of a team, and returns their numbers. Raises Broken. Only `verify`
    checks that the tiles lead to the signed root."""
    end = LogTeam.objects.filter(pk=team_id).values_list("number", flat=True).first() or 0
    first = number = earlier_chains.positions().get(team_id, 0) + 1
    own = LogEntry.objects.filter(team_id=team_id, number__lte=end).order_by("number")
    while batch := list(own.filter(number__gte=number)[:at_once]):
        for expected, entry in enumerate(batch, number):
            if entry.number != expected:
                raise Broken(f"Number {expected}: its entry was removed.")
        _check_contents(batch)
        stored = tiles.read({(0, entry.index // WIDTH) for entry in batch})
        for entry in batch:
            tile, place = divmod(entry.index, WIDTH)
            if stored[0, tile][place : place + 1] != [bytes(entry.hash)]:
                raise Broken(f"Entry {entry.index}: tile 0/{tile} has another hash.")
        number += len(batch)
    if number <= end:
        raise Broken(f"Number {number}: its entry was removed, and all up to {end}.")
    return range(first, number)


def check_head(head: str, verified: Verified) -> None:
    """Raises Broken unless the verified log begins with the log whose `SIZE:ROOT` was stored."""
    size, _, old_root = head.partition(":")
    old = int(size)
    if old > verified.size:
        raise Broken(
            f"The log has {verified.size} entries, and had {old} when its head was stored."
        )
    if not merkle.verify_consistency(
        old=old,
        old_root=bytes.fromhex(old_root),
        size=verified.size,
        root=verified.root,
        proof=tree.consistency_proof(old, verified.size),
    ):
        raise Broken(f"Size {old}: the stored head has another root.")


def _verified_size(stored: LogTree) -> int:
    """Returns how many entries the last verification found unbroken. The log must still begin with
    these entries."""
    size = stored.verified_size
    if not signed_tree.verification_is_genuine(stored):
        raise Broken("The record of the last verification was changed by hand. Use --all.")
    if size > stored.size:
        raise Broken(f"The log has {stored.size} entries, and had {size} when it was verified.")
    if tree.root(size) != bytes(stored.verified_root):
        raise Broken(f"Size {size}: the log had another root when it was verified.")
    return size


def _check_entries(first: int, end: int, *, at_once: int) -> None:
    """Checks entries from `first`, the beginning of a tile, and all tiles above them."""
    roots = []
    for batch in _batches(first, end, at_once=at_once):
        _check_contents(batch)
        roots += _checked_tiles(0, batch[0].index, [bytes(entry.hash) for entry in batch])
    level = 0
    while roots:
        level, first = level + 1, first // WIDTH
        begun = first % WIDTH
        place = (level, first // WIDTH)
        hashes = [*tiles.read([place])[place][:begun], *roots]
        if len(hashes) < begun + len(roots):
            raise tiles.DamagedTile(tiles.DamagedTile.__doc__)
        first -= begun
        roots = [
            root
            for offset in range(0, len(hashes), at_once)
            for root in _checked_tiles(level, first + offset, hashes[offset : offset + at_once])
        ]


def _batches(first: int, end: int, *, at_once: int) -> Iterator[list[LogEntry]]:
    within = LogEntry.objects.filter(index__lt=end).order_by("index")
    while first < end:
        batch = list(within.filter(index__gte=first)[:at_once])
        for expected, entry in enumerate(batch, first):
            if entry.index != expected:
                raise Broken(f"Entry {expected} was removed.")
        if len(batch) < min(at_once, end - first):
            raise Broken(f"Entry {first + len(batch)} was removed, and all up to {end - 1}.")
        yield batch
        first += len(batch)


def _checked_tiles(level: int, first: int, hashes: Sequence[bytes]) -> list[bytes]:
    """Compares hashes of a level, from the beginning of a tile, with the tiles. Returns the roots
    of the full tiles."""
    indexes = range(first // WIDTH, -(-(first + len(hashes)) // WIDTH))
    stored = tiles.read([(level, index) for index in indexes])
    roots = []
    for number, index in enumerate(indexes):
        expected = list(hashes[number * WIDTH : (number + 1) * WIDTH])
        if stored[level, index][: len(expected)] != expected:
            raise Broken(f"Tile {level}/{index} does not match the hashes below it.")
        if len(expected) == WIDTH:
            roots.append(merkle.root(expected))
    return roots


def _check_contents(batch: Sequence[LogEntry]) -> None:
    events = AuditEvent.objects.in_bulk(
        [entry.event_id for entry in batch if entry.event_id is not None]
    )
    jwts = receipts.jwts([entry.receipt_id for entry in batch if entry.receipt_id is not None])
    for entry in batch:
        if entry.kind == LogEntry.EVENT:
            _check_event(entry, events)
        elif entry.kind == LogEntry.RECEIPT:
            _check_receipt(entry, jwts)
        elif bytes(entry.sha256) != earlier_chains.tips_sha256():
            raise Broken(f"Entry {entry.index}: the tips of version 0.2 do not match it.")
        if merkle.leaf_hash(entries.entry_bytes(entry)) != bytes(entry.hash):
            raise Broken(f"Entry {entry.index}: its leaf hash is another one.")


def _check_event(entry: LogEntry, events: dict[int, AuditEvent]) -> None:
    event = events.get(entry.event_id or 0)
    if event is None:
        raise Broken(f"Entry {entry.index}: event {entry.event_id} was removed.")
    content = entries.of_event(event)
    if content.team_id != entry.team_id:
        raise Broken(f"Entry {entry.index}: event {event.pk} was given to another team.")
    if content.sha256 != bytes(entry.sha256):
        raise Broken(f"Entry {entry.index}: event {event.pk} does not match its entry.")


def _check_receipt(entry: LogEntry, jwts: dict[UUID, str]) -> None:
    """Compares a receipt with its entry, if the receipt still exists. A receipt is deleted and made
    again if its key was cut."""
    jwt = jwts.get(entry.receipt_id) if entry.receipt_id else None
    if jwt is not None and receipts.sha256_of(jwt) != bytes(entry.sha256):
        raise Broken(f"Entry {entry.index}: receipt {entry.receipt_id} does not match its entry.")


def _check_numbers(start: int, end: int, *, at_once: int) -> None:
    """Checks that the entries of each team have consecutive numbers."""
    before = LogEntry.objects.filter(
        team_id=OuterRef("team_id"), number=OuterRef("number") - 1, index__lt=OuterRef("index")
    )
    # PostgreSQL looks up the result of a Subquery in the index, row by row. For an Exists,
    # PostgreSQL may use a join that reads all entries.
    first_ones = LogEntry.objects.alias(before=Subquery(before.values("index")[:1])).filter(
        before=None
    )
    positions = earlier_chains.positions()
    for first in range(start, end, at_once):
        within = first_ones.filter(index__gte=first, index__lt=min(first + at_once, end))
        for entry in within.order_by("index"):
            if entry.number != positions.get(entry.team_id, 0) + 1:
                raise Broken(
                    f"Entry {entry.index}: number {entry.number} of team {entry.team_id} does not "
                    "follow the one before it."
                )


def _check_nothing_is_forgotten(until: int, *, at_once: int) -> None:
    """Checks that each event up to `until` has an entry. No team has the number NO_TEAM, so an
    event with this number would be in no team's list."""
    # The index has this order. In the order of the ids, PostgreSQL might read all events.
    if event := AuditEvent.objects.filter(team_id=NO_TEAM).order_by("at", "pk").first():
        raise Broken(
            f"Event {event.pk} names team {NO_TEAM}, which never was one: it was inserted or "
            "changed by hand."
        )
    for ids in key_ranges(AuditEvent.objects.all(), at_once=at_once, within=KeyRange(until=until)):
        if event := sweep.without_entry(ids).first():
            raise Broken(
                f"Event {event.pk} has no entry: it was inserted later, or its entry was removed."
            )
    if receipt_id := receipts.forgotten(at_once):
        raise Broken(
            f"Receipt {receipt_id} has no entry: it was inserted by hand, or its entry was removed."
        )


def _waiting_events(after: int, *, at_once: int) -> int:
    later = key_ranges(AuditEvent.objects.all(), at_once=at_once, within=KeyRange(after))
    return sum(sweep.without_entry(ids).count() for ids in later)
