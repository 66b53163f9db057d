"""Lists the deadlines that passed without an answer, latest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from django.db.models import prefetch_related_objects

from accounts.access.viewer import Viewer
from accounts.models import ApiKey
from database.batched_queries import PAGE, Cursor, first_of_each, older_than
from inbox.reading.deadlines import missed_text
from inbox.reading.rows import DeliveryRow, assumptions_of, row_of, with_assumption
from inbox.reading.status_words import ANSWERED, status_words
from pages.times import when
from wake.models import Delivery, Response


@dataclass(frozen=True, slots=True)
class MissedDeadline:
    """Describes a missed deadline. `happened` is the action that the agent was free to take.
    `answer` is the late answer, if there is one."""

    row: DeliveryRow
    assumption: str
    happened: str
    answer: str


def page(
    viewer: Viewer, *, at: datetime, before: Cursor | None
) -> tuple[list[MissedDeadline], Cursor | None]:
    """Returns one page, and where the next begins. Makes two queries, and one more if a rule may
    make a delivery wait. Index: windows_of_a_team."""
    lists = [
        older_than(
            with_assumption(
                Delivery.objects.for_team(team_id)
                .filter(mode=ApiKey.Mode.LIVE)
                .passed_unanswered(at)
            ),
            "expires_at",
            before,
        )
        for team_id in viewer.team_ids
    ]
    deliveries = sorted(first_of_each(lists), key=attrgetter("expires_at", "pk"), reverse=True)
    on_page = deliveries[:PAGE]
    prefetch_related_objects(on_page, "response")
    last = on_page[-1] if len(deliveries) > PAGE else None
    older = Cursor((last.expires_at, last.pk)) if last and last.expires_at else None
    assumptions = assumptions_of(on_page, viewer)
    lines = [
        MissedDeadline(
            row=row_of(delivery, viewer, at=at),
            assumption=assumptions[delivery.pk],
            happened=missed_text(delivery, at),
            answer=_answer(delivery, getattr(delivery, "response", None), at),
        )
        for delivery in on_page
    ]
    return lines, older


def _answer(delivery: Delivery, response: Response | None, at: datetime) -> str:
    if response is None:
        return "Not answered."
    words = status_words(delivery.type, response.status)
    outcome = "" if words == ANSWERED else f": {words.lower()}"
    return f"Answered late{outcome} by {response.by_name} {when(response.answered_at, now=at)}."
