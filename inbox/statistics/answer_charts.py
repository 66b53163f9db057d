"""Computes the two charts of an agent's statistics: how people answered each day, and how fast.

The template draws them as SVG from attributes, because the content policy forbids inline styles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import Count, DurationField, ExpressionWrapper, F, Q
from django.utils import timezone

from accounts.models import Agent, ApiKey
from inbox.answering.outcome_words import STATUS_LABELS
from inbox.statistics.bar_chart import HEIGHT, LEAST, WIDTH
from inbox.statistics.figures import QUARTER_SECONDS, Quarter, first_day
from wake.models import Delivery, Response

KINDS = [Response.Status.APPROVED, Response.Status.REDIRECTED, Response.Status.REJECTED]
# Each answer counts in the first of these that it was faster than.
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
class Segment:
    """One part of a column; `kind` is the status of its answers."""

    kind: str
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class Column:
    """The answers of people on one day, stacked from the bottom in the order of KINDS."""

    date: date
    x: int
    width: int
    counts: dict[str, int]
    segments: list[Segment]

    @property
    def words(self) -> str:
        """Returns `2 approved, 1 rejected`."""
        parts = [
            f"{self.counts[kind]} {STATUS_LABELS[kind].lower()}"
            for kind in KINDS
            if self.counts[kind]
        ]
        return ", ".join(parts) or "no answers"


@dataclass(frozen=True, slots=True)
class TimeBand:
    """How many answers took this long; `width` is in percent of the fullest band."""

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
    """Counts the answers of people in the days up to now with one query. Days are in the time zone
    of the person who looks at them."""
    start = first_day(at, count=days)
    first = timezone.localtime(start).date()
    by_day = {first + timedelta(days=n): dict.fromkeys(KINDS, 0) for n in range(days)}
    bands = [0] * (len(TIMES) + 1)
    zone = timezone.get_current_timezone()
    for quarter, status, count, *faster in _counts(agent, start, at):
        began = datetime.fromtimestamp(quarter * QUARTER_SECONDS, UTC).astimezone(zone)
        day = by_day.get(began.date())
        if day is None:  # the day has ended meanwhile
            continue
        day[Response.Status(status)] += count
        for number, within in enumerate(_each_band(faster, count)):
            bands[number] += within
    totals = {kind: sum(day[kind] for day in by_day.values()) for kind in KINDS}
    return AnswerCharts(
        columns=_columns(by_day),
        bands=_bands(bands),
        total=sum(totals.values()),
        busiest=max(sum(day.values()) for day in by_day.values()),
        legend=[(kind.value, STATUS_LABELS[kind], totals[kind]) for kind in KINDS],
    )


def _counts(agent: Agent, start: datetime, end: datetime) -> Iterable[tuple[Any, ...]]:
    """Index: answers_of_an_agent; an answer is never released before it is given."""
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
    """Returns the answers of each band from the numbers of all that were faster than its end."""
    ends = [*faster, count]
    return [end - begin for begin, end in zip([0, *faster], ends, strict=True)]


def _columns(by_day: dict[date, dict[Any, int]]) -> list[Column]:
    most = max((sum(day.values()) for day in by_day.values()), default=0)
    step = WIDTH / len(by_day)
    gap = max(1, round(step / 5))
    return [
        Column(
            day,
            x=round(number * step) + gap // 2,
            width=max(1, round(step) - gap),
            counts=counts,
            segments=_segments(counts, most),
        )
        for number, (day, counts) in enumerate(by_day.items())
    ]


def _segments(counts: dict[Any, int], most: int) -> list[Segment]:
    segments, top = [], HEIGHT
    for kind in KINDS:
        if counts[kind]:
            height = max(LEAST, counts[kind] * HEIGHT // most)
            top = max(0, top - height)
            segments.append(Segment(kind.value, top, height))
    return segments


def _bands(counts: Sequence[int]) -> list[TimeBand]:
    most = max(counts) or 1
    titles = [*(title for title, _ in TIMES), LONGER]
    return [
        TimeBand(title, count, -(-count * 100 // most))
        for title, count in zip(titles, counts, strict=True)
    ]
