"""Computes the two charts of an agent's statistics: how people answered each day, and how fast.

The template draws the charts as SVG from attributes, because the content policy forbids inline
styles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Count, DurationField, ExpressionWrapper, F, Q
from django.utils import timezone

from accounts.models import Agent, ApiKey
from inbox.reading.status_words import STATUS_LABELS
from inbox.statistics.figures import QUARTER_SECONDS, Quarter, first_day
from inbox.statistics.stacked_columns import Column, columns
from wake.models import Delivery, Response

KINDS = [Response.Status.APPROVED, Response.Status.REDIRECTED, Response.Status.REJECTED]
LABELS = {kind.value: STATUS_LABELS[kind] for kind in KINDS}
# Each answer counts in the first of these bands whose limit is longer than the answer took.
TIMES = [
    ("under 5 min", timedelta(minutes=5)),
    ("5 to 15 min", timedelta(minutes=15)),
    ("15 min to 1 h", timedelta(hours=1)),
    ("1 to 4 h", timedelta(hours=4)),
    ("4 h to 1 day", timedelta(days=1)),
    ("1 to 7 days", timedelta(days=7)),
]
LONGER = "over 7 days"


@dataclass(frozen=True, slots=True)
class TimeBand:
    """Counts the answers that took this long; `width` is in percent of the fullest band."""

    title: str
    count: int
    width: int


@dataclass(slots=True)
class AnswerCharts:
    columns: list[Column]
    bands: list[TimeBand]
    total: int
    busiest: int
    legend: list[tuple[str, str, int]] = field(default_factory=list)


def answer_charts(agent: Agent, *, days: int, at: datetime) -> AnswerCharts:
    """Counts people's answers in the days up to now with one query. Days are in the viewer's time
    zone."""
    start = first_day(at, count=days)
    first = timezone.localtime(start).date()
    by_day = {first + timedelta(days=n): dict.fromkeys(LABELS, 0) for n in range(days)}
    bands = [0] * (len(TIMES) + 1)
    zone = timezone.get_current_timezone()
    for quarter, status, count, *faster in _counts(agent, start, at):
        began = datetime.fromtimestamp(quarter * QUARTER_SECONDS, UTC).astimezone(zone)
        day = by_day.get(began.date())
        if day is None:  # the day has ended in the meantime
            continue
        day[status] += count
        for number, within in enumerate(_each_band(faster, count)):
            bands[number] += within
    totals = {kind: sum(day[kind] for day in by_day.values()) for kind in LABELS}
    return AnswerCharts(
        columns=columns(by_day, LABELS, nothing="no answers"),
        bands=_bands(bands),
        total=sum(totals.values()),
        busiest=max(sum(day.values()) for day in by_day.values()),
        legend=[(kind, title, totals[kind]) for kind, title in LABELS.items()],
    )


def _counts(agent: Agent, start: datetime, end: datetime) -> Iterable[tuple[Any, ...]]:
    """Makes the query. The filter on `activity_at` uses the index answers_of_an_agent. It leaves
    out no answer, because an answer is never released before it is given."""
    took = ExpressionWrapper(F("answered_at") - F("created_at"), output_field=DurationField())
    faster = {
        f"faster_{number}": Count("pk", filter=Q(took__lt=limit))
        for number, (_, limit) in enumerate(TIMES)
    }
    return (
        Delivery.objects.of_agent(agent, ApiKey.Mode.LIVE)
        .exclude(status=Delivery.Status.PENDING)
        .filter(activity_at__gte=start, answered_at__gte=start, answered_at__lte=end)
        .filter(response__rule_version__isnull=True)
        .order_by()
        .annotate(took=took, quarter=Quarter("answered_at"))
        .values("quarter", "status")
        .annotate(count=Count("pk"), **faster)
        .values_list("quarter", "status", "count", *faster)
    )


def _each_band(faster: Sequence[int], count: int) -> list[int]:
    """Returns the answers of each band. `faster` has the number of answers that were faster than
    each band's end."""
    ends = [*faster, count]
    return [end - begin for begin, end in zip([0, *faster], ends, strict=True)]


def _bands(counts: Sequence[int]) -> list[TimeBand]:
    most = max(counts) or 1
    titles = [*(title for title, _ in TIMES), LONGER]
    return [
        TimeBand(title, count, -(-count * 100 // most))
        for title, count in zip(titles, counts, strict=True)
    ]
