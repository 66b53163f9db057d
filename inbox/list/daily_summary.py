"""Counts what a person's teams did today, for an empty inbox."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from accounts.access.viewer import Viewer
from accounts.models import ApiKey
from database.batched_queries import count_each
from pages.times import midnight
from wake.models import Delivery

COUNT_UP_TO = 500
# A click on "Got it" is not an activity of a delivery, so no index has the time of the click. Only
# deliveries that arrived within a week are counted, which keeps the query fast.
ARRIVED_WITHIN = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class DailySummary:
    """Sums up the day. `has_begun` is True if any delivery ever arrived."""

    answered: int
    acknowledged: int
    has_begun: bool

    @property
    def in_words(self) -> str:
        """Returns `3 answered and 1 acknowledged today`, or an empty text if nothing was done."""
        counts = {"answered": self.answered, "acknowledged": self.acknowledged}
        parts = [f"{count} {what}" for what, count in counts.items() if count]
        return f"{' and '.join(parts)} today" if parts else ""


def daily_summary(viewer: Viewer, *, at: datetime) -> DailySummary:
    """Counts across all of the viewer's teams in one query. Index: history_of_a_team."""
    today = midnight(at)
    delivered = [Delivery.objects.for_team(team_id) for team_id in viewer.team_ids]
    live = [rows.filter(mode=ApiKey.Mode.LIVE) for rows in delivered]
    answered = [rows.answered().filter(activity_at__gte=today) for rows in live]
    acknowledged = [
        rows.filter(activity_at__gte=today - ARRIVED_WITHIN, acknowledged_at__gte=today)
        for rows in live
    ]
    teams = len(delivered)
    counts = count_each([*answered, *acknowledged, *delivered], at_most=COUNT_UP_TO)
    return DailySummary(
        answered=sum(counts[:teams]),
        acknowledged=sum(counts[teams : 2 * teams]),
        has_begun=any(counts),
    )
