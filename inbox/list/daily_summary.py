"""Counts what a person's teams did today, for an empty inbox."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from accounts.models import ApiKey
from database.batched_queries import count_each
from inbox.pages.times import midnight
from inbox.pages.viewer import Viewer
from wake.models import Delivery

COUNT_UP_TO = 500


@dataclass(frozen=True, slots=True)
class DailySummary:
    """Sums up the day. `has_begun` says whether any delivery ever arrived."""

    answered: int
    has_begun: bool


def daily_summary(viewer: Viewer, *, at: datetime) -> DailySummary:
    """Counts across all of the viewer's teams in one query. Index: history_of_a_team."""
    delivered = [Delivery.objects.for_team(team_id) for team_id in viewer.team_ids]
    answered = [
        rows.answered().filter(mode=ApiKey.Mode.LIVE, activity_at__gte=midnight(at))
        for rows in delivered
    ]
    counts = count_each([*answered, *delivered], at_most=COUNT_UP_TO)
    return DailySummary(answered=sum(counts[: len(delivered)]), has_begun=any(counts))
