"""The ledger of what agents assumed: windows that passed with no answer, the last one first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from django.db.models import prefetch_related_objects

from accounts.models import ApiKey
from inbox.moments import when
from inbox.rows import Row, assumption_of, row_of, with_assumption
from inbox.slices import PAGE, Cursor, first_of_each, older_than
from inbox.viewer import Viewer
from inbox.windows import passed
from wake.models import Delivery, Response


@dataclass(frozen=True, slots=True)
class Assumed:
    """`happened` is what the agent was free to do, `answer` what somebody said all the same."""

    row: Row
    assumption: str
    happened: str
    answer: str


def page(
    viewer: Viewer, *, at: datetime, before: Cursor | None
) -> tuple[list[Assumed], Cursor | None]:
    """One page and where the next begins; two queries. Index: windows_of_a_team."""
    lists = [
        older_than(
            with_assumption(
                Delivery.objects.for_team(team_id)
                .filter(lane=ApiKey.Lane.LIVE)
                .passed_unanswered(at)
            ),
            "expires_at",
            before,
        )
        for team_id in viewer.team_ids
    ]
    found = sorted(first_of_each(lists), key=attrgetter("expires_at", "pk"), reverse=True)
    shown = found[:PAGE]
    prefetch_related_objects(shown, "response")
    last = shown[-1] if len(found) > PAGE else None
    older = Cursor((last.expires_at, last.pk)) if last and last.expires_at else None
    return [_line(delivery, viewer, at) for delivery in shown], older


def _line(delivery: Delivery, viewer: Viewer, at: datetime) -> Assumed:
    return Assumed(
        row=row_of(delivery, viewer, at=at),
        assumption=assumption_of(delivery),
        happened=passed(delivery, at),
        answer=_answer(getattr(delivery, "response", None), at),
    )


def _answer(response: Response | None, at: datetime) -> str:
    if response is None:
        return "Nobody has answered."
    given = when(response.answered_at, now=at)
    return f"Answered late: {response.get_status_display().lower()} by {response.by_name} {given}."
