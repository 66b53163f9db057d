"""Checks that the audit is what was sealed: nothing changed, removed, inserted or moved since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from accounts.models import AuditEvent, AuditHead, AuditSeal, SealedUntil
from accounts.seals import BEGINNING, NO_TEAM, beyond_head, chain_of, described, link, unsealed

AT_ONCE = 2_000


class Broken(Exception):
    """The chain is not what it was; the message says where, and what is wrong there."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A chain in which every link fits: where it ends, and how many events wait for their seal."""

    position: int
    hash: str
    waiting: int

    @property
    def head(self) -> str:
        return f"{self.position}:{self.hash}"


def chains() -> list[int]:
    """Of every team that there is or was, and of what belongs to none. Also where neither seal nor
    head is left: who removes both must not keep the events from being asked for."""
    sealed = AuditSeal.objects.values_list("chain", flat=True).distinct()
    heads = AuditHead.objects.values_list("chain", flat=True)
    without_seal = unsealed().order_by().values_list("team_id", flat=True).distinct()
    teams = (NO_TEAM if team_id is None else team_id for team_id in without_seal)
    return sorted({NO_TEAM, *sealed, *heads, *teams})


def verify(chain: int, *, noted: str = "") -> Whole:
    """Reads a whole chain, a few events at a time; raises Broken at the first link that does not
    fit. `noted` is a head that somebody kept elsewhere, which must still be a part of it."""
    until = SealedUntil.objects.values_list("event_id", flat=True).first() or 0
    head = AuditHead.objects.filter(chain=chain).first() or AuditHead(position=0, hash=BEGINNING)
    hashes = {0: BEGINNING}
    noted_position, _, noted_hash = noted.partition(":")
    position, reached = 0, BEGINNING
    for seal, event in _links(chain, end=head.position):
        position += 1
        reached = link(reached, _checked(seal, event, chain=chain, position=position))
        if seal.hash != reached:
            raise Broken(f"Position {position}: event {seal.event_id} is not what was sealed.")
        if noted_position == str(position):
            hashes[position] = reached
    _check_end(chain, head, position, reached)
    if noted and hashes.get(int(noted_position)) != noted_hash:
        raise Broken(f"Position {noted_position}: it was another one when it was noted.")
    if chain == NO_TEAM:
        _check_no_stranger()
    waiting = unsealed().filter(team_id=chain or None)
    if forgotten := waiting.filter(pk__lte=until).first():
        raise Broken(
            f"Event {forgotten.pk} has no position: it was inserted later, or its seal was removed."
        )
    return Whole(position, reached, waiting.count())


def _links(chain: int, *, end: int) -> Iterator[tuple[AuditSeal, AuditEvent | None]]:
    """Each seal in order, with its event where that is still there."""
    seals = AuditSeal.objects.filter(chain=chain, position__lte=end).order_by("position")
    last = 0
    while batch := list(seals.filter(position__gt=last)[:AT_ONCE]):
        events = AuditEvent.objects.in_bulk([seal.event_id for seal in batch])
        yield from ((seal, events.get(seal.event_id)) for seal in batch)
        last = batch[-1].position


def _checked(seal: AuditSeal, event: AuditEvent | None, *, chain: int, position: int) -> AuditEvent:
    if seal.position != position:
        raise Broken(f"Position {position}: its seal was removed.")
    if event is None:
        raise Broken(f"Position {position}: event {seal.event_id} was removed.")
    if chain_of(event) != chain:
        raise Broken(f"Position {position}: event {seal.event_id} was given to another team.")
    return event


def _check_end(chain: int, head: AuditHead, position: int, reached: str) -> None:
    if position < head.position:
        raise Broken(f"Position {position + 1}: the end is missing, up to {head.position}.")
    if reached != head.hash:
        raise Broken(f"Position {position}: the chain ended here with another hash.")
    if seal := beyond_head(chain):
        raise Broken(
            f"Position {seal.position}: {described(seal)} stands after the end of the chain."
        )


def _check_no_stranger() -> None:
    """What belongs to no team has none, and no team has this number: whoever writes it as one would
    have an event that is in nobody's list and in nobody's chain."""
    if stranger := AuditEvent.objects.filter(team_id=NO_TEAM).order_by("pk").first():
        raise Broken(
            f"Event {stranger.pk} names team {NO_TEAM}, which never was one: it was inserted or "
            "changed by hand."
        )
