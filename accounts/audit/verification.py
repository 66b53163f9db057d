"""Checks the audit against its chains: nothing was changed, removed, inserted or moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from accounts.audit.chain import (
    BEGINNING,
    NO_TEAM,
    chain_of,
    described,
    entry_after_tip,
    link,
    without_entry,
)
from accounts.models import AuditCheckpoint, AuditEntry, AuditEvent, AuditTip

AT_ONCE = 2_000


class Broken(Exception):
    """The chain was tampered with. The message says where and how."""


@dataclass(frozen=True, slots=True)
class Verified:
    """Describes a chain that is unbroken: its tip, and how many events wait for their entry."""

    position: int
    hash: str
    waiting: int

    @property
    def tip(self) -> str:
        return f"{self.position}:{self.hash}"


def chains() -> list[int]:
    """Returns the chains of all teams that exist or existed, and the one without a team. A chain
    whose entries and tip were removed is included because of its events."""
    with_entries = AuditEntry.objects.values_list("chain", flat=True).distinct()
    tips = AuditTip.objects.values_list("chain", flat=True)
    without = without_entry().order_by().values_list("team_id", flat=True).distinct()
    teams = (NO_TEAM if team_id is None else team_id for team_id in without)
    return sorted({NO_TEAM, *with_entries, *tips, *teams})


def verify(chain: int, *, noted: str = "") -> Verified:
    """Reads a whole chain in batches. Raises Broken at the first entry that is wrong. `noted` is a
    tip that was kept elsewhere and must still be part of the chain."""
    until = AuditCheckpoint.objects.values_list("event_id", flat=True).first() or 0
    tip = AuditTip.objects.filter(chain=chain).first() or AuditTip(position=0, hash=BEGINNING)
    hashes = {0: BEGINNING}
    noted_position, _, noted_hash = noted.partition(":")
    position, reached = 0, BEGINNING
    for entry, event in _links(chain, end=tip.position):
        position += 1
        reached = link(reached, _checked(entry, event, chain=chain, position=position))
        if entry.hash != reached:
            raise Broken(f"Position {position}: event {entry.event_id} does not match its entry.")
        if noted_position == str(position):
            hashes[position] = reached
    _check_end(chain, tip, position, reached)
    if noted and position < int(noted_position):
        raise Broken(
            f"The chain ends at position {position}, and had reached {noted_position} when its tip "
            "was noted."
        )
    if noted and hashes.get(int(noted_position)) != noted_hash:
        raise Broken(f"Position {noted_position}: the noted tip has another hash.")
    if chain == NO_TEAM:
        _check_no_false_team()
    waiting = without_entry().filter(team_id=chain or None)
    if forgotten := waiting.filter(pk__lte=until).first():
        raise Broken(
            f"Event {forgotten.pk} has no position: it was inserted later, or its entry was "
            "removed."
        )
    return Verified(position, reached, waiting.count())


def _links(chain: int, *, end: int) -> Iterator[tuple[AuditEntry, AuditEvent | None]]:
    """Yields each entry in order, with its event if that still exists."""
    entries = AuditEntry.objects.filter(chain=chain, position__lte=end).order_by("position")
    last = 0
    while batch := list(entries.filter(position__gt=last)[:AT_ONCE]):
        events = AuditEvent.objects.in_bulk([entry.event_id for entry in batch])
        yield from ((entry, events.get(entry.event_id)) for entry in batch)
        last = batch[-1].position


def _checked(
    entry: AuditEntry, event: AuditEvent | None, *, chain: int, position: int
) -> AuditEvent:
    if entry.position != position:
        raise Broken(f"Position {position}: its entry was removed.")
    if event is None:
        raise Broken(f"Position {position}: event {entry.event_id} was removed.")
    if chain_of(event) != chain:
        raise Broken(f"Position {position}: event {entry.event_id} was given to another team.")
    return event


def _check_end(chain: int, tip: AuditTip, position: int, reached: str) -> None:
    if position < tip.position:
        raise Broken(f"Position {position + 1}: the end is missing, up to {tip.position}.")
    if reached != tip.hash:
        raise Broken(f"Position {position}: the chain ended here with another hash.")
    if entry := entry_after_tip(chain):
        raise Broken(
            f"Position {entry.position}: {described(entry)} stands after the tip of the chain."
        )


def _check_no_false_team() -> None:
    """Raises Broken for events of team NO_TEAM. No team has this number, so such an event would be
    in no list and no chain."""
    if event := AuditEvent.objects.filter(team_id=NO_TEAM).order_by("pk").first():
        raise Broken(
            f"Event {event.pk} names team {NO_TEAM}, which never was one: it was inserted or "
            "changed by hand."
        )
