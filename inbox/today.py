"""What a clear inbox says: how much was done today, and whether anything ever came."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from accounts.models import ApiKey
from inbox.moments import midnight
from inbox.slices import count_each
from inbox.viewer import Viewer
from wake.models import Delivery

COUNTED = 500


@dataclass(frozen=True, slots=True)
class Today:
    answered: int
    has_begun: bool


def today(viewer: Viewer, *, at: datetime) -> Today:
    """Across all their teams; one query. Index: history_of_a_lane."""
    came = [Delivery.objects.for_team(team_id) for team_id in viewer.team_ids]
    answered = [
        rows.answered().filter(lane=ApiKey.Lane.LIVE, activity_at__gte=midnight(at))
        for rows in came
    ]
    counts = count_each([*answered, *came], at_most=COUNTED)
    return Today(answered=sum(counts[: len(came)]), has_begun=any(counts))
