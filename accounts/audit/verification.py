"""Checks, by the chains of version 0.2, whether events of that version were changed, removed or
moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from accounts.audit.chain import (
    BEGINNING,
    chain_of,
    described,
    entry_after_tip,
    link,
)
from accounts.models import AuditEntry, AuditEvent, AuditTip

AT_ONCE = 2_000


class BrokenChain(Exception):
    """The chain was tampered with. The message says where and how."""


@dataclass(frozen=True, slots=True)
class VerifiedChain:
    """Describes an unbroken chain by its tip."""

    position: int
    hash: str

    @property
    def tip(self) -> str:
        return f"{self.position}:{self.hash}"


def chains() -> list[int]:
    """Returns the chains of version 0.2: the chains of teams that exist or existed, and the chain
    without a team."""
    return sorted({*_with_entries(), *AuditTip.objects.values_list("chain", flat=True)})


def _with_entries() -> Iterator[int]:
    """Yields the chains that have entries. Each statement reads one entry of the index. A DISTINCT
    would read all entries, and PostgreSQL ends a statement after ten seconds."""
    entries = AuditEntry.objects.order_by("chain", "position").values_list("chain", flat=True)
    chain = entries.first()
    while chain is not None:
        yield chain
        chain = entries.filter(chain__gt=chain).first()


def verify(chain: int, *, stored_tip: str = "", at_once: int = AT_ONCE) -> VerifiedChain:
    """Reads a whole chain in batches of `at_once` entries. Raises BrokenChain at the first wrong
    entry. `stored_tip` was stored elsewhere and must still be part of the chain."""
    tip = AuditTip.objects.filter(chain=chain).first() or AuditTip(position=0, hash=BEGINNING)
    hashes = {0: BEGINNING}
    stored_position, _, stored_hash = stored_tip.partition(":")
    position, reached = 0, BEGINNING
    for entry, event in _links(chain, end=tip.position, at_once=at_once):
        position += 1
        reached = link(reached, _checked(entry, event, chain=chain, position=position))
        if entry.hash != reached:
            raise BrokenChain(
                f"Position {position}: event {entry.event_id} does not match its entry."
            )
        if stored_position == str(position):
            hashes[position] = reached
    _check_end(chain, tip, position, reached)
    if stored_tip and position < int(stored_position):
        raise BrokenChain(
            f"The chain ends at position {position}, and had reached {stored_position} when its "
            "tip was stored."
        )
    if stored_tip and hashes.get(int(stored_position)) != stored_hash:
        raise BrokenChain(f"Position {stored_position}: the stored tip has another hash.")
    return VerifiedChain(position, reached)


def _links(chain: int, *, end: int, at_once: int) -> Iterator[tuple[AuditEntry, AuditEvent | None]]:
    """Yields each entry in order, with its event if the event still exists."""
    entries = AuditEntry.objects.filter(chain=chain, position__lte=end).order_by("position")
    last = 0
    while batch := list(entries.filter(position__gt=last)[:at_once]):
        events = AuditEvent.objects.in_bulk([entry.event_id for entry in batch])
        yield from ((entry, events.get(entry.event_id)) for entry in batch)
        last = batch[-1].position


def _checked(
    entry: AuditEntry, event: AuditEvent | None, *, chain: int, position: int
) -> AuditEvent:
    if entry.position != position:
        raise BrokenChain(f"Position {position}: its entry was removed.")
    if event is None:
        raise BrokenChain(f"Position {position}: event {entry.event_id} was removed.")
    if chain_of(event) != chain:
        raise BrokenChain(f"Position {position}: event {entry.event_id} was given to another team.")
    return event


def _check_end(chain: int, tip: AuditTip, position: int, reached: str) -> None:
    if position < tip.position:
        raise BrokenChain(f"Position {position + 1}: the end is missing, up to {tip.position}.")
    if reached != tip.hash:
        raise BrokenChain(f"Position {position}: the chain ended here with another hash.")
    if entry := entry_after_tip(chain):
        raise BrokenChain(
            f"Position {entry.position}: {described(entry)} stands after the tip of the chain."
        )
