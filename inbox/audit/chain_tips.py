"""Shows the tip of each team's audit chain, which proves later that nothing before it was changed
(manage.py audit_verify --head)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from accounts.access.viewer import Viewer
from accounts.models import AuditEntry, AuditTip, Team


@dataclass(frozen=True, slots=True)
class ChainTip:
    team: Team
    position: int
    hash: str
    appended_at: datetime

    @property
    def short(self) -> str:
        return f"{self.hash[:8]}…{self.hash[-8:]}"

    def __str__(self) -> str:
        return f"{self.position}:{self.hash}"


def chain_tips(viewer: Viewer, *, owned: bool = False) -> list[ChainTip]:
    """Returns the tips of the viewer's teams, or of those that they own; one query."""
    ids = viewer.owned_team_ids if owned else viewer.team_ids
    rows = AuditTip.objects.in_bulk(ids)
    return [
        ChainTip(viewer.memberships[pk].team, row.position, row.hash, row.appended_at)
        for pk in ids
        if (row := rows.get(pk))
    ]


def chain_entry_of(event_id: int) -> AuditEntry | None:
    """Returns the chain entry of an event; None for the few seconds until it has one."""
    return AuditEntry.objects.filter(event_id=event_id).first()
