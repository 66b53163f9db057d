"""Where the chain of each team's audit ends: whoever keeps that elsewhere can tell later whether
anything before it was touched (manage.py audit_verify --head)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from accounts.models import AuditHead, AuditSeal, Team
from inbox.viewer import Viewer


@dataclass(frozen=True, slots=True)
class Head:
    team: Team
    position: int
    hash: str
    sealed_at: datetime

    @property
    def short(self) -> str:
        return f"{self.hash[:8]}…{self.hash[-8:]}"

    def __str__(self) -> str:
        return f"{self.position}:{self.hash}"


def heads(viewer: Viewer, *, owned: bool = False) -> list[Head]:
    """Of their teams, or of those that they own, where anything is sealed; one query."""
    ids = viewer.owned_team_ids if owned else viewer.team_ids
    rows = AuditHead.objects.in_bulk(ids)
    return [
        Head(viewer.memberships[pk].team, row.position, row.hash, row.sealed_at)
        for pk in ids
        if (row := rows.get(pk))
    ]


def seal_of(event_id: int) -> AuditSeal | None:
    """None for the few seconds until it is sealed."""
    return AuditSeal.objects.filter(event_id=event_id).first()
