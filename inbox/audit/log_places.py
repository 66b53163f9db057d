"""Shows the head of the log, and the place of an event in it. With a head that a person stored,
manage.py audit_verify --head can later prove that nothing before that head was changed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from accounts.access.viewer import Viewer
from accounts.log import signed_tree
from accounts.models import AuditEntry, AuditTip, LogEntry, Team


@dataclass(frozen=True, slots=True)
class LogHead:
    size: int
    root: str
    appended_at: datetime

    @property
    def short(self) -> str:
        return f"{self.root[:8]}…{self.root[-8:]}"

    def __str__(self) -> str:
        return f"{self.size}:{self.root}"


@dataclass(frozen=True, slots=True)
class ChainTip:
    """Describes the tip of a team's chain of version 0.2."""

    team: Team
    position: int
    hash: str
    appended_at: datetime


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Says where an event is in the log: the index of its entry, and the number among the entries
    of its team. An event that version 0.2 chained has no index, and its number is its position in
    the chain. The hash is the hash of the leaf, or of the entry in the chain."""

    index: int | None
    number: int
    hash: str
    salt: bytes
    appended_at: datetime


def log_head() -> LogHead | None:
    """Returns None until the log has an entry."""
    tree = signed_tree.stored()
    if tree.appended_at is None:
        return None
    return LogHead(tree.size, bytes(tree.root).hex(), tree.appended_at)


def chain_tips(viewer: Viewer) -> list[ChainTip]:
    """Returns the chain tips of version 0.2, for each team that the viewer owns."""
    rows = AuditTip.objects.in_bulk(viewer.owned_team_ids)
    return [
        ChainTip(viewer.memberships[pk].team, row.position, row.hash, row.appended_at)
        for pk in viewer.owned_team_ids
        if (row := rows.get(pk))
    ]


def places(event_ids: Collection[int]) -> dict[int, LogPlace]:
    """Returns the places of events. An event has no place for the few seconds until the event is
    logged. Makes two queries."""
    chained = AuditEntry.objects.filter(event_id__in=event_ids)
    found = {
        entry.event_id: LogPlace(None, entry.position, entry.hash, b"", entry.appended_at)
        for entry in chained
    }
    for entry in LogEntry.objects.filter(event_id__in=event_ids):
        if entry.event_id is not None:
            found[entry.event_id] = LogPlace(
                entry.index,
                entry.number,
                bytes(entry.hash).hex(),
                bytes(entry.salt),
                entry.appended_at,
            )
    return found
